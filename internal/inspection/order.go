package inspection

import "fmt"

// Capability is something that an agent can do beside reporting.
type Capability string

const (
	// CapabilityCleanMetadata is wiping what describes a disk's content.
	CapabilityCleanMetadata Capability = "clean-metadata"
	// CapabilityCleanFull is wiping whole disks.
	CapabilityCleanFull Capability = "clean-full"
)

// CleanMode is how thoroughly disks are wiped.
type CleanMode string

// Modes, from the least to the most thorough.
const (
	CleanNone     CleanMode = "none"
	CleanMetadata CleanMode = "metadata"
	CleanFull     CleanMode = "full"
)

// thoroughness ranks the modes.
var thoroughness = map[CleanMode]int{CleanNone: 0, CleanMetadata: 1, CleanFull: 2}

// ParseCleanMode is for flags and annotations.
func ParseCleanMode(s string) (CleanMode, error) {
	if _, ok := thoroughness[CleanMode(s)]; !ok {
		return "", fmt.Errorf("cleanup mode %q: want %s, %s or %s", s, CleanNone, CleanMetadata, CleanFull)
	}
	return CleanMode(s), nil
}

// Covers reports whether a machine cleaned in mode m is as clean as mode o asks for. An unknown
// mode covers nothing.
func (m CleanMode) Covers(o CleanMode) bool {
	have, known := thoroughness[m]
	return known && have >= thoroughness[o]
}

// Capability is what an agent needs to be given this order; empty: no agent is.
func (o CleanOrder) Capability() Capability {
	switch o.Mode {
	case CleanMetadata:
		return CapabilityCleanMetadata
	case CleanFull:
		return CapabilityCleanFull
	}
	return ""
}

// Results of a [DiskCleanup].
const (
	CleanedOK     = "ok"
	CleanedFailed = "failed" // Error says why; the server is not clean
	CleanedExempt = "exempt" // removable, read-only, or the probe's own boot medium: left alone on purpose
)

// Order is the body of the 201 that answers a registration: what the agent is to do
// next. It is given only to the holder of a token of a server that is in Cleanup;
// everybody else gets an empty body. Agents that do not read it lose nothing but the
// order; their server stays dirty, with a condition.
//
// An agent that has carried out an order registers again, under the same token, with
// [Report.Cleanup] filled in.
type Order struct {
	Cleanup *CleanOrder `json:"cleanup,omitempty"`
}

// CleanOrder is the order to wipe the machine's disks.
type CleanOrder struct {
	Mode CleanMode `json:"mode"`
}
