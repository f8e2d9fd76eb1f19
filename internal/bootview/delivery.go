package bootview

import "time"

// DeliveryKind says what a machine was given.
type DeliveryKind string

// What machines are given, in the order in which a boot asks for it.
const (
	DeliveredChainload DeliveryKind = "Chainload"
	DeliveredScript    DeliveryKind = "Script"
	DeliveredUKI       DeliveryKind = "UKI"
	DeliveredArtifact  DeliveryKind = "Artifact"
	DeliveredIgnition  DeliveryKind = "Ignition"
	DeliveredProgram   DeliveryKind = "Program"
)

// Delivery is one answer of a boot server to one machine: the way back of what went
// into the view. For a chainload script, and for artifacts that an unknown address asked for,
// only Addr says who it was.
type Delivery struct {
	Kind    DeliveryKind
	Entry   string // name of the entry it came from
	UUID    string
	Attempt string // id
	Addr    string
	Time    time.Time
	Status  int // HTTP status; a refusal is reported too, when the machine is known
}
