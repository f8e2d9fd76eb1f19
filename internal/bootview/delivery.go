package bootview

import "time"

// DeliveryKind says what a machine was given, or what it told.
type DeliveryKind string

// What machines are given, in the order in which a boot asks for it; then what they tell.
const (
	// DeliveredBoot is an answer of DHCP: what to boot, and perhaps an address.
	DeliveredBoot      DeliveryKind = "DHCP"
	DeliveredProgram   DeliveryKind = "Program"
	DeliveredChainload DeliveryKind = "Chainload"
	DeliveredScript    DeliveryKind = "Script"
	DeliveredUKI       DeliveryKind = "UKI"
	DeliveredArtifact  DeliveryKind = "Artifact"
	DeliveredIgnition  DeliveryKind = "Ignition"

	// ReceivedReport is the report of a probe, ReceivedBootState the word of an operating system that it runs.
	ReceivedReport    DeliveryKind = "Report"
	ReceivedBootState DeliveryKind = "BootState"
)

// IsFile reports whether a machine's firmware fetches that itself and boots it: a UKI, or what other boot methods record under kinds of their own.
func (k DeliveryKind) IsFile() bool {
	switch k {
	case DeliveredBoot, DeliveredProgram, DeliveredChainload, DeliveredScript, DeliveredArtifact, DeliveredIgnition, ReceivedReport, ReceivedBootState:
		return false
	}
	return true
}

// Alarm is an attempt to have, or to say, what is for one machine alone.
type Alarm struct {
	// Server, where one is known, and UUID say which machine, Attempt which of its boots.
	Server, UUID, Attempt string
	// What was asked for, or reported.
	What DeliveryKind
	// Caller asked, Bound boots, which may be nobody.
	Caller, Bound Caller
	// Why says why the caller is not taken for the machine.
	Why  string
	Time time.Time
}

// Delivery is one answer of a boot server to one machine: the way back of what went
// into the view. For a chainload script, and for artifacts that an unknown address asked for,
// only Addr says who it was.
type Delivery struct {
	Kind    DeliveryKind
	Entry   string // name of the entry it came from
	What    string // which of several of a kind: kernel, initrd, squashfs, the file of a program; may be empty
	UUID    string
	Attempt string // id
	Addr    string
	MAC     string // of the caller, where it is known
	// Stranger says that whoever asked is not the machine that boots: nothing secret was in the answer.
	Stranger bool
	Time     time.Time
	Status   int   // HTTP status; a refusal is reported too, when the machine is known
	Bytes    int64 // of the body that was sent, or of what was received
}
