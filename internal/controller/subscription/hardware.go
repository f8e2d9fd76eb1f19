package subscription

import (
	"slices"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/fleet"
)

const (
	// refreshDelay is how long after an event of other hardware that is read: it comes in several, and a BMC needs a
	// moment until it shows what it tells of.
	refreshDelay = 5 * time.Second
	// refreshEvery bounds how often one BMC can have that done: it is dozens of requests.
	refreshEvery = time.Minute
)

// changes are words in the keys of messages that tell of something that came or went (DSP0266, ResourceEvent and
// StorageDevice registries; vendors' own name them alike).
var changes = []string{"added", "inserted", "created", "removed", "deleted", "missing", "replaced", "resourcechanged", "configchanged", "inventory"}

// services are the parts of a BMC where things come and go that are no hardware: sessions, and subscriptions such as ours.
var services = []string{
	"/sessionservice", "/eventservice", "/taskservice", "/jobservice", "/jobs/", "/accountservice", "/telemetryservice",
	"/updateservice", "/certificateservice", "/registries", "/jsonschemas", "/logservices", "/certificates",
}

// aboutHardware says that an event tells of hardware that came, went or was exchanged.
func aboutHardware(e bmcevents.Event) bool {
	key := strings.ToLower(e.MessageID[strings.LastIndexByte(e.MessageID, '.')+1:])
	origin := strings.ToLower(e.Origin)
	in := func(text string) func(string) bool {
		return func(word string) bool { return strings.Contains(text, word) }
	}
	return slices.ContainsFunc(changes, in(key)) && !slices.ContainsFunc(services, in(origin))
}

// refreshHardware has a BMC asked about everything where an event told of other hardware. It returns when to look again, 0: not
// because of this. The caller has locked r.mu.
func (r *Reconciler) refreshHardware(m *memory, key fleet.Key, now time.Time) time.Duration {
	if m.changed.IsZero() {
		return 0
	}
	at := m.changed.Add(refreshDelay)
	if earliest := m.refreshed.Add(refreshEvery); earliest.After(at) {
		at = earliest
	}
	if wait := at.Sub(now); wait > 0 {
		return wait
	}
	m.changed, m.refreshed = time.Time{}, now
	r.Fleet.Refresh(key)
	return 0
}
