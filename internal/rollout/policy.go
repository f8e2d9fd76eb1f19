package rollout

import "time"

// Policy says how carefully a change goes through a fleet.
type Policy struct {
	// Fleet, Zone and Rack are how many machines may be unavailable at once: of all, of those of one zone, of those of one rack. An Amount that is
	// not set limits nothing.
	Fleet, Zone, Rack Amount
	// Waves are in their order. After the last of them comes the rest.
	Waves []Wave
	// Windows are when items may begin. Without any they may at all times.
	Windows []Window
	// Failures is how many items may have failed before no further one begins. An Amount that is not set limits nothing.
	Failures Amount
	// Classes are limits for failures of one class each, beside Failures.
	Classes map[string]int
	// Return is how long the machines of an item may take to be available again after their change.
	Return time.Duration
	// Held says why nothing may begin at all: Paused or Aborted.
	Held Reason
	// Accepted is how many failures somebody has looked at, and let the change go on.
	Accepted int
}

// Wave is a part of the way.
type Wave struct {
	// UpTo is how many items have begun in total when the wave is full.
	UpTo Amount
	// Bake is how long the last item of the wave has to be done before the next wave begins.
	Bake time.Duration
	// Gates are what every item of the wave has to pass before it is done.
	Gates []Gate
}

// Gate is what the machines of an item have to show after their change.
type Gate string

// What there is to show.
const (
	// Health: their BMCs report that they are well.
	Health Gate = "Health"
	// ProbeBoot: they boot once from the network, and the probe reports. Those in use cannot, and are skipped.
	ProbeBoot Gate = "ProbeBoot"
)

// GatesOf are those of a wave, by its number from 1. The rest has none, for nothing comes after it.
func (p Policy) GatesOf(wave int) []Gate {
	if wave < 1 || wave > len(p.Waves) {
		return nil
	}
	return p.Waves[wave-1].Gates
}
