package subscription

import (
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// ReasonCritical is the reason of the event on a BMC object that repeats a critical one of the BMC.
const ReasonCritical = "BMCCriticalEvent"

const (
	// eventEvery is the shortest time between two events on one BMC object. The metrics count all.
	eventEvery = time.Minute
	// maxEvents is for all BMCs together: a power failure is critical for each of ten thousand.
	maxEvents       = 50
	eventsEvery     = time.Minute
	maxEventMessage = 500

	// followFor is how long after an event a change of power is followed, followEvery how often.
	followFor   = 2 * time.Minute
	followEvery = time.Second
)

// eventBudget counts the events on all BMC objects in the current minute.
type eventBudget struct {
	since time.Time
	n     int
}

// Heard is called by the receiver with new events of a BMC. It makes the actor poll soon and does not trust the content of an
// event. The fleet limits how often that happens (fleet.Fleet.PollSoon).
func (r *Reconciler) Heard(id string, list []bmcevents.Event) {
	hardware := slices.ContainsFunc(list, aboutHardware)
	r.mu.Lock()
	if m := r.known[id]; m != nil {
		m.heard = r.Clock.Now()
		if hardware && m.changed.IsZero() {
			m.changed = m.heard
		}
	}
	r.mu.Unlock()
	source, name := r.listener(id)
	if key, bound := r.Registry.Key(source, name); bound {
		r.Fleet.PollSoon(key)
	}
	if hardware {
		source.Wake("", name)
	}
	for _, e := range list {
		if e.Severity == bmcevents.SeverityCritical {
			r.recordEvent(id, e)
		}
	}
}

// follow keeps polling while a system is between two power states after an event: not every
// BMC sends an event at the end of the change. It returns when to reconcile again, 0: not for this reason.
func (r *Reconciler) follow(m *memory, key fleet.Key, o fleet.Observation, now time.Time) time.Duration {
	changing := func(s fleet.SystemObservation) bool {
		return s.PowerState == bmc.PowerPoweringOn || s.PowerState == bmc.PowerPoweringOff
	}
	if m.heard.IsZero() || now.Sub(m.heard) > followFor || !slices.ContainsFunc(o.Systems, changing) {
		return 0
	}
	r.Fleet.PollSoon(key)
	return followEvery
}

func (r *Reconciler) recordEvent(id string, e bmcevents.Event) {
	uid, may := r.mayRecordEvent(id)
	if !may || r.Recorder == nil {
		return
	}
	events.Send(r.Recorder, about(id, uid), nil, corev1.EventTypeWarning, ReasonCritical, bmcevents.MessageClass(e.MessageID)+": "+printable(e.Message))
}

func (r *Reconciler) mayRecordEvent(id string) (uid string, may bool) {
	now := r.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.known[id]
	if m == nil || !m.critical.IsZero() && now.Sub(m.critical) < eventEvery {
		return "", false
	}
	if now.Sub(r.told.since) >= eventsEvery {
		r.told = eventBudget{since: now}
	}
	if r.told.n >= maxEvents {
		return "", false
	}
	r.told.n++
	m.critical = now
	return m.uid, true
}

// printable is what of a BMC's words can be shown anywhere.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "")
	if len(s) > maxEventMessage {
		s = strings.ToValidUTF8(s[:maxEventMessage], "") + "…"
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, s)
}
