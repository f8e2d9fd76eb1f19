package dhcp

import "net/netip"

// Standing says what is known of a machine.
type Standing uint8

const (
	// Unknown: no Server, boot config or Assignment names it.
	Unknown Standing = iota
	// Known: one does.
	Known
	// Unsynced: nothing can be said yet. To answer "unknown" would send a known machine elsewhere.
	Unsynced
)

// Boot is what the boot server would tell a machine over HTTP.
type Boot struct {
	Standing Standing
	// FileURL is what /httpboot would say; empty: nothing.
	FileURL string
	// ScriptURL is where iPXE asks for its script; empty: iPXE is disabled.
	ScriptURL string

	// UUID, Attempt and Entry are for the record: which machine it is, which of its boots, and which entry of the boot view it comes from.
	UUID, Attempt, Entry string
}

// Boots says what machines get, and keeps the record of what they were told. The boot server implements it; neither method waits for anything.
type Boots interface {
	Boot(Client) Boot
	Answered(Event)
}

// Event is a request that was answered, or was not, and why.
type Event struct {
	Client Client
	Boot   Boot
	Answer Answer
	// Step is what was sent, in the terms of the protocol ("offer", "ack", "advertise", "reply"); empty: nothing.
	Step string
	// Addr is the address that the machine was given, or has; invalid: none of ours.
	Addr netip.Addr
}

// Policy is what the operator wants.
type Policy struct {
	// BootUnknown has machines that nobody knows boot too.
	BootUnknown bool
	// Program is the file name of the boot program for an architecture; empty: there is none.
	Program func(Arch) string
}
