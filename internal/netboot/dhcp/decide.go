package dhcp

// Kind is what a machine is told to boot.
type Kind uint8

const (
	// Nothing: a lease alone in server mode, no answer in proxy mode.
	Nothing Kind = iota
	// File: the URL of what firmware boots over HTTP.
	File
	// Script: the URL of the chainload script, for iPXE.
	Script
	// Program: the name of a boot program, over TFTP.
	Program
	// Wait: no answer at all, for the machine has to ask again.
	Wait
)

// Reason says why an answer is what it is.
type Reason string

// The reasons. Metrics carry them.
const (
	ReasonServed        Reason = "Served"
	ReasonNoNetworkBoot Reason = "NoNetworkBoot"
	ReasonUnknown       Reason = "UnknownMachine"
	ReasonUnsynced      Reason = "NotSynchronised"
	ReasonNoFile        Reason = "NoFile"
	ReasonNoBootURL     Reason = "NoBootURL"
	ReasonNoArch        Reason = "UnknownArchitecture"
	ReasonNoProgram     Reason = "NoBootProgram"
	ReasonLimited       Reason = "RateLimited"
	ReasonMalformed     Reason = "Malformed"
)

// Answer is what a machine is told to boot.
type Answer struct {
	Kind   Kind
	Reason Reason
	// URL of a File or Script, or the name of a Program.
	Boot string
}

// Decide says what a machine is told.
func Decide(c Client, b Boot, p Policy) Answer {
	switch {
	case !c.Boots():
		return Answer{Kind: Nothing, Reason: ReasonNoNetworkBoot}
	case b.Standing == Unsynced:
		// A lease without a boot file would have firmware go on to its next device.
		return Answer{Kind: Wait, Reason: ReasonUnsynced}
	case b.Standing == Unknown && !p.BootUnknown:
		return Answer{Kind: Nothing, Reason: ReasonUnknown}
	case c.Class == HTTPClass:
		return given(File, b.FileURL, ReasonNoFile)
	case c.IPXE:
		return given(Script, b.ScriptURL, ReasonNoBootURL)
	case !c.Arch.Known():
		return Answer{Kind: Nothing, Reason: ReasonNoArch}
	}
	return given(Program, p.Program(c.Arch), ReasonNoProgram)
}

func given(kind Kind, boot string, missing Reason) Answer {
	if boot == "" {
		return Answer{Kind: Nothing, Reason: missing}
	}
	return Answer{Kind: kind, Reason: ReasonServed, Boot: boot}
}
