package subscription

import (
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmcevents"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// ReasonCritical is the reason of the event on a BMC object that repeats a critical one of the BMC.
const ReasonCritical = "BMCCriticalEvent"

const (
	// tellAgain is how long a BMC object that told of a critical event tells of no other. All are counted in
	// the metrics.
	tellAgain = time.Minute
	// tellings of all BMCs together: a power failure is critical for each of ten thousand.
	maxTellings     = 50
	tellingsEvery   = time.Minute
	maxEventMessage = 500

	// followFor is how long after an event a change of power is followed, followEvery how often.
	followFor   = 2 * time.Minute
	followEvery = time.Second
)

// tellings counts what all BMC objects told in the current minute.
type tellings struct {
	since time.Time
	n     int
}

// Heard is called by the receiver with new events of a BMC. The actor polls early: what has
// changed is read from where it stands, an event is only believed to mean something. How often that
// can happen is the fleet's to bound (fleet.Fleet.Poke).
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
			r.tell(id, e)
		}
	}
}

// follow polls on while a system is between two power states of which an event has told: not every
// BMC tells when it has arrived. It returns when to look again, 0: not because of this.
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

func (r *Reconciler) tell(id string, e bmcevents.Event) {
	uid, may := r.mayTell(id)
	if !may || r.Recorder == nil {
		return
	}
	r.Recorder.Eventf(about(id, uid), nil, corev1.EventTypeWarning, ReasonCritical, ReasonCritical, "%s: %s",
		bmcevents.MessageClass(e.MessageID), printable(e.Message))
}

func (r *Reconciler) mayTell(id string) (uid string, may bool) {
	now := r.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.known[id]
	if m == nil || !m.critical.IsZero() && now.Sub(m.critical) < tellAgain {
		return "", false
	}
	if now.Sub(r.told.since) >= tellingsEvery {
		r.told = tellings{since: now}
	}
	if r.told.n >= maxTellings {
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
