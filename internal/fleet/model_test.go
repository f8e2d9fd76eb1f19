package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// world is a BMC at which anything goes wrong, and what must hold whatever does.
type world struct {
	*stand
	rt *rapid.T

	fault       func(string) error
	password    int
	lastSeen    bmc.PowerState // by the last successful look at the system
	refusedAt   time.Time      // of the last 401, zero once the password changed
	pending     time.Time      // when an ordered power change shows
	becomes     bmc.PowerState
	accepted    map[string]time.Time
	succeeded   map[string]bool
	calls       int
	lockedUntil time.Time // when the lock of holder ends
}

const holder = "rotation"

var faults = map[string]func(string) error{
	"none":              nil,
	"everything hangs":  failing(errTimeout),
	"connection lost":   failing(errRefused),
	"server error":      failing(errServer),
	"busy":              failing(&bmc.Error{Kind: bmc.KindServer, StatusCode: 503, RetryAfter: time.Minute}),
	"password":          failing(errAuth),
	"resets hang":       failOn("reset", errTimeout),
	"resets refused":    failOn("reset", &bmc.Error{Kind: bmc.KindRejected, StatusCode: 400}),
	"graceful refused":  failOn("reset GracefulShutdown", &bmc.Error{Kind: bmc.KindUnsupported}),
	"boot refused":      failOn("boot", &bmc.Error{Kind: bmc.KindRejected, StatusCode: 400}),
	"boot in use":       failOn("boot", &bmc.Error{Kind: bmc.KindRejected, StatusCode: 409}),
	"manager broken":    failOn("manager", errServer),
	"inventory hangs":   failOn("inventory", errTimeout),
	"services broken":   failOn("firmware", errServer),
	"services hang":     failOn("firmware", errTimeout),
	"settings busy":     failOn("indicator", errServer),
	"list is no JSON":   failOn("list", &bmc.Error{Kind: bmc.KindProtocol}),
	"system is no JSON": failOn("system", &bmc.Error{Kind: bmc.KindProtocol}),
}

func faultNames() []string { return slices.Sorted(maps.Keys(faults)) }

func newWorld(t *testing.T, rt *rapid.T) *world {
	t.Helper()
	w := &world{stand: newStand(t, func(o *Options) { o.Seed = rapid.Int64Min(1).Draw(rt, "seed") }), rt: rt, accepted: map[string]time.Time{}, succeeded: map[string]bool{}}
	w.fleet.Subscribe(w.hear)
	w.bmc.fail = w.answer
	w.bmc.reset = w.order
	return w
}

// answer is asked before every call to the BMC.
func (w *world) answer(call string) error {
	w.calls++
	if !w.pending.IsZero() && !w.clock.Now().Before(w.pending) {
		w.bmc.systems[0].PowerState, w.pending = w.becomes, time.Time{}
	}
	if quiet := w.refusedAt.Add(w.fleet.options.AuthBackoff); !w.refusedAt.IsZero() && w.clock.Now().Before(quiet) && call != "close" {
		w.rt.Fatalf("%s at %s, after the password was refused at %s", call, w.clock.Now(), w.refusedAt)
	}
	if call == "inventory" && w.clock.Now().Before(w.lockedUntil) {
		w.rt.Fatalf("an inventory during a lock")
	}
	w.guard(call)
	if w.fault != nil {
		if err := w.fault(call); err != nil {
			if bmc.KindOf(err) == bmc.KindAuthentication && call != "close" {
				w.refusedAt = w.clock.Now()
			}
			return err
		}
	}
	if call == "system" {
		w.lastSeen = w.bmc.systems[0].PowerState
	}
	return nil
}

// guard: what changes the power is sent only at a power state that allows it.
func (w *world) guard(call string) {
	on := call == "reset On" || strings.HasPrefix(call, "boot")
	off := call == "reset GracefulShutdown" || call == "reset ForceOff"
	if slices.ContainsFunc(w.actor.history, func(s CommandStatus) bool { return s.Kind == Reset && s.State == Running }) {
		return // an explicit reset is sent as it is
	}
	if on && w.lastSeen != bmc.PowerOff && w.lastSeen != bmc.PowerPaused ||
		off && (w.lastSeen == bmc.PowerOff || w.lastSeen == bmc.PowerUnknown) {
		w.rt.Fatalf("%s when the power was last seen %s", call, w.lastSeen)
	}
}

// order lets the power follow a reset after a while, or never.
func (w *world) order(s *bmc.System, t bmc.ResetType) {
	delay := rapid.SampledFrom([]time.Duration{0, time.Second, 40 * time.Second, 4 * time.Minute, time.Hour}).Draw(w.rt, "delay")
	w.pending = w.clock.Now().Add(delay)
	switch t {
	case bmc.ResetOn:
		w.becomes = bmc.PowerOn
	case bmc.ResetForceOff, bmc.ResetGracefulShutdown:
		w.becomes = bmc.PowerOff
	default:
		w.pending = time.Time{}
	}
}

func (w *world) command() {
	c := Command{
		ID:        fmt.Sprint("c", rapid.IntRange(0, 40).Draw(w.rt, "id")),
		System:    systemURI,
		Kind:      rapid.SampledFrom([]CommandKind{PowerOn, PowerOff, Reset, SetIndicator, ResetManager}).Draw(w.rt, "kind"),
		Budget:    rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 10 * time.Minute}).Draw(w.rt, "budget"),
		Force:     rapid.Bool().Draw(w.rt, "force"),
		Reset:     rapid.SampledFrom([]bmc.ResetType{bmc.ResetForceOff, bmc.ResetForceRestart}).Draw(w.rt, "reset"),
		Indicator: bmc.IndicatorLit,
		Holder:    rapid.SampledFrom([]string{"", holder}).Draw(w.rt, "holder"),
	}
	if c.Kind == ResetManager {
		c.System = ""
	}
	w.accept(c.ID, func() error { return w.fleet.Submit(w.key, c) })
}

func (w *world) job() {
	j := Job{
		ID:     fmt.Sprint("j", rapid.IntRange(0, 40).Draw(w.rt, "id")),
		Holder: rapid.SampledFrom([]string{"", holder}).Draw(w.rt, "holder"),
		Run:    firmware,
	}
	w.accept(j.ID, func() error { return w.fleet.Do(w.key, j) })
}

func (w *world) accept(id string, submit func() error) {
	if _, known := w.fleet.Command(w.key, id); known || w.observation().Sequence == 0 {
		return
	}
	if submit() == nil {
		w.accepted[id] = w.clock.Now()
	}
}

func (w *world) lock() {
	d := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(w.rt, "lock")
	if w.fleet.Lock(w.key, holder, d) == nil {
		w.lockedUntil = w.clock.Now().Add(d)
	}
}

// check is what holds at any time.
func (w *world) check() {
	o := w.observation()
	now := w.clock.Now()
	if (o.Err == nil) != o.ErrSince.IsZero() {
		w.rt.Fatalf("error %v since %s", o.Err, o.ErrSince)
	}
	running := 0
	for id, since := range w.accepted {
		s, ok := w.fleet.Command(w.key, id)
		if !ok || s.State.Ended() {
			delete(w.accepted, id)
			continue
		}
		if s.State == Running && s.Kind.power() {
			running++
		}
		if s.State == Running && s.Holder != holder && now.Before(w.lockedUntil) {
			w.rt.Fatalf("%+v runs during a lock", s)
		}
		// The longest: waiting to begin, the budget twice, and the force-off.
		if limit := 2*w.fleet.options.MaxBackoff + 2*10*time.Minute + forceBudget + time.Minute; now.Sub(since) > limit {
			w.rt.Fatalf("%s was accepted %s ago: %+v", id, now.Sub(since), s)
		}
	}
	if running > 1 {
		w.rt.Fatalf("%d commands of one system run", running)
	}
}

// hear checks what subscribers see: who is told of a success finds the power so.
func (w *world) hear(Key) {
	o := w.observation()
	if len(o.Systems) != 1 {
		return
	}
	s := o.Systems[0]
	c := s.Command
	if _, open := w.accepted[c.ID]; !open || c.State != Succeeded || w.succeeded[c.ID] {
		return
	}
	w.succeeded[c.ID] = true
	want := map[CommandKind]bmc.PowerState{PowerOn: bmc.PowerOn, PowerOff: bmc.PowerOff}[c.Kind]
	if want != "" && s.PowerState != want || c.End.Before(c.Start) {
		w.rt.Fatalf("%+v with power %s", c, s.PowerState)
	}
}

// TestModel lets BMC and controllers do what they can and checks what must hold.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt)
		began := w.clock.Now()
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { w.check() },
			"time": func(rt *rapid.T) {
				w.runFor(rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}).Draw(rt, "time"))
			},
			"command": func(*rapid.T) { w.command() },
			"fault": func(rt *rapid.T) {
				w.fault = faults[rapid.SampledFrom(faultNames()).Draw(rt, "fault")]
			},
			"hand on the button": func(rt *rapid.T) {
				w.bmc.systems[0].PowerState = rapid.SampledFrom([]bmc.PowerState{
					bmc.PowerOn, bmc.PowerOff, bmc.PowerUnknown, bmc.PowerPoweringOn, bmc.PowerPoweringOff, bmc.PowerPaused,
				}).Draw(rt, "power")
			},
			"new password": func(*rapid.T) {
				w.password++
				w.refusedAt = time.Time{}
				spec := *w.actor.spec
				spec.Credentials.Password = bmc.Secret(fmt.Sprint(w.password))
				w.fleet.Ensure(spec)
			},
			"refresh": func(*rapid.T) { w.fleet.Refresh(w.key) },
			"event":   func(*rapid.T) { w.fleet.PollSoon(w.key) },
			"job":     func(*rapid.T) { w.job() },
			"lock":    func(*rapid.T) { w.lock() },
			"unlock":  func(*rapid.T) { w.lockedUntil = time.Time{}; w.fleet.Unlock(w.key, holder) },
		})
		// And in the end all is well: the BMC recovers, and so does the actor.
		w.fault = nil
		w.runFor(w.fleet.options.MaxBackoff + w.fleet.options.PollInterval + time.Minute)
		w.check()
		if o := w.observation(); o.Err != nil || len(o.Systems) != 1 {
			rt.Fatalf("after recovery: %+v", o)
		}
		if most := 60 * (int(w.clock.Now().Sub(began)/time.Minute) + 60); w.calls > most {
			rt.Fatalf("%d calls in %s", w.calls, w.clock.Now().Sub(began))
		}
	})
}
