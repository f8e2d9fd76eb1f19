package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func TestCommandAtABMCThatIsAway(t *testing.T) {
	s := met(t, nil)
	s.bmc.fail = failing(errRefused)
	s.submit(Command{ID: "1", Kind: PowerOn, Budget: time.Minute})
	s.runFor(time.Minute)
	if got := s.status("1"); got.State != Queued || !errors.Is(got.Err, errRefused) {
		t.Errorf("while away: %+v", got)
	}
	s.runFor(s.fleet.options.PollInterval) // no longer back-off than that while a command waits
	s.bmc.fail = nil
	s.bmc.calls()
	s.runFor(s.fleet.options.PollInterval)
	if got := s.status("1"); got.State != Succeeded {
		t.Errorf("back again: %+v", got)
	}

	s.bmc.fail = failing(errRefused)
	s.submit(Command{ID: "2", Kind: PowerOff, Budget: time.Minute})
	s.runFor(time.Minute + 2*s.fleet.options.MaxBackoff)
	if got := s.status("2"); got.State != Failed || !errors.Is(got.Err, ErrNotBegun) || !errors.Is(got.Err, errRefused) {
		t.Errorf("away for good: %+v", got)
	}
	s.bmc.fail = nil
	s.runFor(time.Hour)
	if got := changes(s); len(got) > 2 { // those of the first command
		t.Errorf("an expired command was carried out: %v", got)
	}
}

func TestBMCLostWhilePowerIsAwaited(t *testing.T) {
	for _, test := range []struct {
		force bool
		ends  time.Duration
	}{{false, time.Minute}, {true, time.Minute + forceBudget}} {
		s := met(t, nil)
		isOn(s)
		later(s, time.Hour, true)
		s.submit(Command{ID: "1", Kind: PowerOff, Budget: time.Minute, Force: test.force})
		s.step()
		s.bmc.fail = failing(errTimeout)
		s.runFor(10 * time.Minute)
		got := s.status("1")
		if got.State != Failed || !errors.Is(got.Err, ErrNotObserved) || !errors.Is(got.Err, errTimeout) || got.End.Sub(got.Start) != test.ends {
			t.Errorf("force %v: after %s %+v", test.force, got.End.Sub(got.Start), got)
		}
	}
}

func TestSubmit(t *testing.T) {
	s := newStand(t, nil)
	on := Command{ID: "1", System: systemURI, Kind: PowerOn}
	if err := s.fleet.Submit(s.key, on); !errors.Is(err, ErrUnknownSystem) {
		t.Errorf("before anything is known: %v", err)
	}
	s.runFor(time.Second)
	s.bmc.calls()
	for name, test := range map[string]struct {
		key  Key
		c    Command
		want error
	}{
		"unknown BMC":    {"http://nowhere:1", on, ErrUnknownBMC},
		"unknown system": {s.key, Command{ID: "1", System: "/x", Kind: PowerOn}, ErrUnknownSystem},
		"no ID":          {s.key, Command{System: systemURI, Kind: PowerOn}, ErrInvalidCommand},
		"no system":      {s.key, Command{ID: "1", Kind: PowerOn}, ErrInvalidCommand},
		"no kind":        {s.key, Command{ID: "1", System: systemURI}, ErrInvalidCommand},
		"no reset type":  {s.key, Command{ID: "1", System: systemURI, Kind: Reset}, ErrInvalidCommand},
		"no indicator":   {s.key, Command{ID: "1", System: systemURI, Kind: SetIndicator}, ErrInvalidCommand},
		"no boot order":  {s.key, Command{ID: "1", System: systemURI, Kind: SetBootOrder}, ErrInvalidCommand},
		"no BMC reset":   {s.key, Command{ID: "1", Kind: ResetManager}, ErrInvalidCommand},
		"BMC and system": {s.key, Command{ID: "1", System: systemURI, Kind: ResetManager, Reset: bmc.ResetForceRestart}, ErrInvalidCommand},
		"a job's kind":   {s.key, Command{ID: "1", Kind: work}, ErrInvalidCommand},
	} {
		if err := s.fleet.Submit(test.key, test.c); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.submit(on)
	s.submit(on) // while it waits
	s.runFor(time.Minute)
	isOff(s)
	s.submit(on) // after it ended
	s.runFor(time.Minute)
	if diff := cmp.Diff([]string{`boot ""`, "reset On"}, changes(s)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for i := range 10 * maxHistory {
		s.submit(Command{ID: time.Duration(i).String(), Kind: PowerOff})
		if i%4 == 3 {
			s.step()
		}
	}
	s.step()
	if n := len(s.actor.history); n > maxHistory {
		t.Errorf("%d commands are remembered", n)
	}
	for i := range maxQueue {
		s.submit(Command{ID: "q" + time.Duration(i).String(), Kind: PowerOff})
	}
	if err := s.fleet.Submit(s.key, Command{ID: "one too many", System: systemURI, Kind: PowerOff}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("a full queue: %v", err)
	}
}

func TestDecide(t *testing.T) {
	const settle = 30 * time.Second
	at := func(d time.Duration) time.Time { return start.Add(d) }
	deadline := 5 * time.Minute
	coming := func(to bmc.PowerState) settling { return settling{to: to, until: at(time.Minute)} }
	all := []bmc.PowerState{bmc.PowerOn, bmc.PowerOff, bmc.PowerPaused, bmc.PowerPoweringOn, bmc.PowerPoweringOff, bmc.PowerUnknown}
	type row [6]action // in the order of all
	const (
		w, ok, no, on, sd, off, rs = actWait, actSucceed, actFail, actPowerOn, actShutDown, actForceOff, actReset
	)
	for _, test := range []struct {
		name string
		c    command
		now  time.Duration
		want row
	}{
		{"on, begins", command{Command: Command{Kind: PowerOn}}, 0, row{ok, on, on, w, w, w}},
		{"on, asked", command{Command: Command{Kind: PowerOn}, stage: stageAsked}, time.Minute, row{ok, w, w, w, w, w}},
		{"on, doubtful", command{Command: Command{Kind: PowerOn}, stage: stageAsked, doubtful: true, sentAt: at(0)}, settle, row{ok, on, on, w, w, w}},
		{"on, doubtful, early", command{Command: Command{Kind: PowerOn}, stage: stageAsked, doubtful: true, sentAt: at(0)}, settle - 1, row{ok, w, w, w, w, w}},
		{"on, late", command{Command: Command{Kind: PowerOn}, stage: stageAsked}, deadline, row{ok, no, no, no, no, no}},
		{"on, off coming", command{Command: Command{Kind: PowerOn}, settling: coming(bmc.PowerOff)}, 0, row{w, on, on, w, w, w}},
		{"on, off did not come", command{Command: Command{Kind: PowerOn}, settling: coming(bmc.PowerOff)}, time.Minute, row{ok, on, on, w, w, w}},
		{"off, begins", command{Command: Command{Kind: PowerOff}}, 0, row{sd, ok, sd, sd, w, w}},
		{"off, asked", command{Command: Command{Kind: PowerOff}, stage: stageAsked}, time.Minute, row{w, ok, w, w, w, w}},
		{"off, late", command{Command: Command{Kind: PowerOff}, stage: stageAsked}, deadline, row{no, ok, no, no, no, no}},
		{"off, late, by force", command{Command: Command{Kind: PowerOff, Force: true}, stage: stageAsked}, deadline, row{off, ok, off, off, off, no}},
		{"off, forced", command{Command: Command{Kind: PowerOff, Force: true}, stage: stageForced}, time.Minute, row{w, ok, w, w, w, w}},
		{"off, forced, late", command{Command: Command{Kind: PowerOff, Force: true}, stage: stageForced}, deadline, row{no, ok, no, no, no, no}},
		{"off, on coming", command{Command: Command{Kind: PowerOff}, settling: coming(bmc.PowerOn)}, 0, row{sd, w, sd, sd, w, w}},
		{"restart, begins", command{Command: Command{Kind: Reset, Reset: bmc.ResetForceRestart}}, 0, row{rs, rs, rs, rs, rs, rs}},
		{"force off, begins", command{Command: Command{Kind: Reset, Reset: bmc.ResetForceOff}}, 0, row{rs, ok, rs, rs, rs, rs}},
		{"force off, late", command{Command: Command{Kind: Reset, Reset: bmc.ResetForceOff}, stage: stageAsked}, deadline, row{no, ok, no, no, no, no}},
	} {
		test.c.deadline = at(deadline)
		for i, power := range all {
			if got := test.c.decide(power, at(test.now), settle); got != test.want[i] {
				t.Errorf("%s, %s: action %d, want %d", test.name, power, got, test.want[i])
			}
		}
	}
}
