package firmwareversion

import (
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

const (
	// startTolerance is by how much the clock of a BMC may differ from ours beyond what the fleet says of it.
	startTolerance = 6 * time.Minute
	// maxKnown bounds how many tasks are remembered that were there before.
	maxKnown = 64
	// noClock is a year in which no update was started: BMCs whose clock was not set begin in 1970 or 2000.
	noClock = 2020
)

// known names a task for the list of those that were there before an update: a BMC that has restarted uses its URIs again.
func known(t bmc.Task) string {
	if t.Start.IsZero() {
		return t.URI
	}
	return t.URI + "@" + t.Start.UTC().Format(time.RFC3339)
}

// knownOf names the newest tasks.
func knownOf(tasks []bmc.Task) []string {
	var names []string
	for _, t := range tasks[max(0, len(tasks)-maxKnown):] {
		names = append(names, known(t))
	}
	return names
}

// intent is the update that was to be started.
type intent struct {
	// images are the URIs that the BMC may have been given for its image.
	images []string
	// at is when, by our clock; skew is how far the BMC's is ahead.
	at    time.Time
	skew  time.Duration
	known []string
}

// began reports whether a task is that of the update. The image says so where the BMC shows it. Otherwise it is an update that was not
// there before, and did not begin before.
func (i intent) began(t bmc.Task) bool {
	switch {
	case slices.Contains(i.known, known(t)):
		return false
	case t.Image != "":
		return slices.Contains(i.images, t.Image)
	case !t.OfUpdate():
		return false
	}
	return t.Start.Year() < noClock || !t.Start.Before(i.at.Add(i.skew-startTolerance))
}

// find finds the task of an update among all of a BMC, the newest last.
func (i intent) find(tasks []bmc.Task) (bmc.Task, bool) {
	for _, t := range slices.Backward(tasks) {
		if i.began(t) {
			return t, true
		}
	}
	return bmc.Task{}, false
}

// underWay finds an update that is.
func underWay(tasks []bmc.Task) *bmc.Task {
	for _, t := range tasks {
		if t.OfUpdate() && !t.State.Ended() {
			return &t
		}
	}
	return nil
}
