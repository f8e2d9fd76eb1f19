package fleet

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// later has the power follow a reset after d, as real machines do. A shutdown is
// ignored where graceful is false.
func later(s *stand, d time.Duration, graceful bool) {
	var at time.Time
	var to bmc.PowerState
	s.bmc.reset = func(_ *bmc.System, t bmc.ResetType) {
		switch t {
		case bmc.ResetOn:
			at, to = s.clock.Now().Add(d), bmc.PowerOn
		case bmc.ResetForceOff:
			at, to = s.clock.Now(), bmc.PowerOff
		case bmc.ResetGracefulShutdown:
			if graceful {
				at, to = s.clock.Now().Add(d), bmc.PowerOff
			}
		}
	}
	inner := s.bmc.fail
	s.bmc.fail = func(call string) error {
		if !at.IsZero() && !s.clock.Now().Before(at) {
			s.bmc.systems[0].PowerState = to
		}
		if inner != nil {
			return inner(call)
		}
		return nil
	}
}

func isOn(s *stand)  { s.bmc.systems[0].PowerState = bmc.PowerOn }
func isOff(s *stand) { s.bmc.systems[0].PowerState = bmc.PowerOff }

// changes are the calls that are not reads.
func changes(s *stand) []string {
	return slices.DeleteFunc(s.bmc.calls(), func(c string) bool {
		return c == "system" || c == "list" || c == "manager" || c == "inventory"
	})
}

func TestPowerCommands(t *testing.T) {
	pxe := bmc.BootOverride{Target: bmc.BootPXE}
	refused := func(code int) error { return &bmc.Error{Kind: bmc.KindRejected, StatusCode: code} }
	badRequest, forbidden, conflict := refused(400), refused(403), refused(409)
	unsupported := &bmc.Error{Kind: bmc.KindUnsupported}
	ready := func(s *stand, at time.Duration, err error, call string) { // err until at, then well
		end := start.Add(at)
		s.bmc.fail = func(c string) error {
			if c == call && s.clock.Now().Before(end) {
				return err
			}
			return nil
		}
	}
	for _, test := range []struct {
		name    string
		prepare func(*stand)
		command Command
		want    []string // requests that change something
		state   CommandState
		err     error
		sent    bmc.ResetType
		forced  bool
	}{
		{"on", isOff, Command{Kind: PowerOn, Boot: pxe}, []string{`boot "Pxe"`, "reset On"}, Succeeded, nil, "On", false},
		{"on from disk clears the override", isOff, Command{Kind: PowerOn}, []string{`boot ""`, "reset On"}, Succeeded, nil, "On", false},
		{"on, on already", isOn, Command{Kind: PowerOn, Boot: pxe}, nil, Succeeded, nil, "", false},
		{
			"on, slowly", func(s *stand) { later(s, 90*time.Second, true) }, Command{Kind: PowerOn, Boot: pxe},
			[]string{`boot "Pxe"`, "reset On"}, Succeeded, nil, "On", false,
		},
		{
			"on, never", func(s *stand) { later(s, time.Hour, true) }, Command{Kind: PowerOn, Boot: pxe, Budget: time.Minute},
			[]string{`boot "Pxe"`, "reset On"}, Failed, ErrNotObserved, "On", false,
		},
		{
			"on, override refused", func(s *stand) { s.bmc.fail = failOn("boot", badRequest) }, Command{Kind: PowerOn, Boot: pxe},
			[]string{`boot "Pxe"`}, Failed, badRequest, "", false,
		},
		{
			"on, override not offered", func(s *stand) { s.bmc.fail = failOn("boot", unsupported) }, Command{Kind: PowerOn, Boot: pxe},
			[]string{`boot "Pxe"`}, Failed, unsupported, "", false,
		},
		{
			"on, busy at first", func(s *stand) { ready(s, 3*time.Second, errServer, `boot "Pxe"`) }, Command{Kind: PowerOn, Boot: pxe},
			[]string{`boot "Pxe"`, `boot "Pxe"`, "reset On"}, Succeeded, nil, "On", false,
		},
		{
			"on, in use at first", func(s *stand) { ready(s, 3*time.Second, conflict, "reset On") }, Command{Kind: PowerOn},
			[]string{`boot ""`, "reset On", `boot ""`, "reset On"}, Succeeded, nil, "On", false,
		},
		{
			"on, forbidden", func(s *stand) { s.bmc.fail = failOn("reset", forbidden) }, Command{Kind: PowerOn},
			[]string{`boot ""`, "reset On"}, Failed, forbidden, "On", false,
		},
		{
			"on, power unknown", func(s *stand) { s.bmc.systems[0].PowerState = bmc.PowerUnknown }, Command{Kind: PowerOn, Budget: time.Minute},
			nil, Failed, ErrNotObserved, "", false,
		},

		{"off", isOn, Command{Kind: PowerOff}, []string{"reset GracefulShutdown"}, Succeeded, nil, "GracefulShutdown", false},
		{"off, off already", isOff, Command{Kind: PowerOff, Force: true}, nil, Succeeded, nil, "", false},
		{
			"off, ignored, forced", func(s *stand) { isOn(s); later(s, time.Minute, false) }, Command{Kind: PowerOff, Force: true, Budget: time.Minute},
			[]string{"reset GracefulShutdown", "reset ForceOff"}, Succeeded, nil, "ForceOff", true,
		},
		{
			"off, ignored, not forced", func(s *stand) { isOn(s); later(s, time.Minute, false) }, Command{Kind: PowerOff, Budget: time.Minute},
			[]string{"reset GracefulShutdown"}, Failed, ErrNotObserved, "GracefulShutdown", false,
		},
		{
			"off, not even by force", func(s *stand) { isOn(s); s.bmc.reset = func(*bmc.System, bmc.ResetType) {} },
			Command{Kind: PowerOff, Force: true, Budget: time.Minute},
			[]string{"reset GracefulShutdown", "reset ForceOff"}, Failed, ErrNotObserved, "ForceOff", true,
		},
		{
			"off, no graceful way, forced", func(s *stand) { isOn(s); s.bmc.fail = failOn("reset GracefulShutdown", unsupported) },
			Command{Kind: PowerOff, Force: true},
			[]string{"reset GracefulShutdown", "reset ForceOff"}, Succeeded, nil, "ForceOff", true,
		},
		{
			"off, graceful refused, forced", func(s *stand) { isOn(s); s.bmc.fail = failOn("reset GracefulShutdown", badRequest) },
			Command{Kind: PowerOff, Force: true},
			[]string{"reset GracefulShutdown", "reset ForceOff"}, Succeeded, nil, "ForceOff", true,
		},
		{
			"off, no graceful way, not forced", func(s *stand) { isOn(s); s.bmc.fail = failOn("reset", unsupported) }, Command{Kind: PowerOff},
			[]string{"reset GracefulShutdown"}, Failed, unsupported, "GracefulShutdown", false,
		},
		{
			"off while it goes off", func(s *stand) {
				s.bmc.systems[0].PowerState = bmc.PowerPoweringOff
				s.bmc.fail = func(string) error {
					if s.clock.Now().After(start.Add(time.Minute)) {
						isOff(s)
					}
					return nil
				}
			}, Command{Kind: PowerOff}, nil, Succeeded, nil, "", false,
		},

		{"restart", isOn, Command{Kind: Reset, Reset: bmc.ResetForceRestart}, []string{"reset ForceRestart"}, Succeeded, nil, "ForceRestart", false},
		{"restart by the nearest", isOn, Command{Kind: Reset, Reset: bmc.ResetPowerCycle}, []string{"reset PowerCycle"}, Succeeded, nil, "ForceRestart", false},
		{"force off", isOn, Command{Kind: Reset, Reset: bmc.ResetForceOff}, []string{"reset ForceOff"}, Succeeded, nil, "ForceOff", false},
		{"force off, off already", isOff, Command{Kind: Reset, Reset: bmc.ResetForceOff}, nil, Succeeded, nil, "", false},
		{
			"force off, never", func(s *stand) { isOn(s); s.bmc.reset = func(*bmc.System, bmc.ResetType) {} },
			Command{Kind: Reset, Reset: bmc.ResetForceOff, Budget: time.Minute},
			[]string{"reset ForceOff"}, Failed, ErrNotObserved, "ForceOff", false,
		},
		{
			"no such system any more", func(s *stand) { s.bmc.systems = nil }, Command{Kind: PowerOn},
			nil, Failed, ErrUnknownSystem, "", false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := met(t, nil)
			test.prepare(s)
			test.command.ID = "c"
			s.submit(test.command)
			if got := s.observation().Systems[0].Command; got.ID != "c" || got.State != Queued {
				t.Errorf("after Submit: %+v", got)
			}
			s.runFor(10 * time.Minute)
			if diff := cmp.Diff(test.want, changes(s), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			got := s.status("c")
			if got.State != test.state || !errors.Is(got.Err, test.err) || got.Sent != test.sent || got.Forced != test.forced {
				t.Errorf("status %+v", got)
			}
			if got.End.IsZero() || got.End.Before(got.Start) {
				t.Errorf("from %s to %s", got.Start, got.End)
			}
			if o := s.observation(); len(o.Systems) == 1 {
				if diff := cmp.Diff(got.State, o.Systems[0].Command.State); diff != "" {
					t.Errorf("observed (-status +observation):\n%s", diff)
				}
				if target := (&command{Command: test.command}).target(); test.state == Succeeded && target != "" && o.Systems[0].PowerState != target {
					t.Errorf("succeeded with power %s", o.Systems[0].PowerState)
				}
			}
		})
	}
}

// A command begins with a fresh look, however fresh the observation is.
func TestCommandTrustsNothingCached(t *testing.T) {
	s := met(t, nil)
	isOn(s) // by somebody's hand, just now
	s.submit(Command{ID: "1", Kind: PowerOff})
	s.step()
	if diff := cmp.Diff([]string{"system", "reset GracefulShutdown"}, s.bmc.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// An order whose answer never came may have arrived. It is not repeated until the
// machine has had time to show it.
func TestDoubtfulOrder(t *testing.T) {
	for _, arrived := range []bool{true, false} {
		s := met(t, nil)
		lost := 0
		s.bmc.fail = func(call string) error {
			if call == "reset On" && lost == 0 {
				lost++
				if arrived {
					isOn(s)
				}
				return errTimeout
			}
			return nil
		}
		s.submit(Command{ID: "1", Kind: PowerOn})
		s.runFor(2 * time.Minute)
		resets := 0
		for _, e := range s.bmc.diary {
			if e.call == "reset On" {
				resets++
				if wait := e.at.Sub(start); resets == 2 && wait < settleTime(&s.fleet.options) {
					t.Errorf("repeated after %s", wait)
				}
			}
		}
		if want := map[bool]int{true: 1, false: 2}[arrived]; resets != want {
			t.Errorf("arrived %v: %d resets, want %d", arrived, resets, want)
		}
		if got := s.status("1"); got.State != Succeeded {
			t.Errorf("arrived %v: %+v", arrived, got)
		}
	}
}

func TestFastPollsWhilePowerIsAwaited(t *testing.T) {
	s := met(t, nil)
	later(s, time.Hour, true)
	s.submit(Command{ID: "1", Kind: PowerOn, Budget: 20 * time.Minute})
	s.runFor(20 * time.Minute)
	var rests []time.Duration
	var last time.Time
	for _, e := range s.bmc.diary {
		if e.call == "system" {
			if !last.IsZero() {
				rests = append(rests, e.at.Sub(last))
			}
			last = e.at
		}
	}
	if rests[0] > 5*time.Second || rests[0] < 4*time.Second {
		t.Errorf("first rest %s, want some 5 s", rests[0])
	}
	if longest := slices.Max(rests); longest > s.fleet.options.PollInterval || longest < s.fleet.options.PollInterval*3/4 {
		t.Errorf("longest rest %s, want up to the poll interval", longest)
	}
	if len(rests) > 30 {
		t.Errorf("%d polls in 20 minutes", len(rests))
	}
	if got := s.status("1").End.Sub(start); got < 20*time.Minute || got > 20*time.Minute+2*time.Second {
		t.Errorf("gave up after %s", got)
	}
}

func TestSupersession(t *testing.T) {
	t.Run("one that has not begun", func(t *testing.T) {
		s := met(t, nil)
		s.submit(Command{ID: "1", Kind: PowerOn})
		s.submit(Command{ID: "2", Kind: PowerOff})
		s.step()
		if len(changes(s)) != 0 || s.status("1").State != Superseded || s.status("2").State != Succeeded {
			t.Errorf("%+v, %+v", s.status("1"), s.status("2"))
		}
	})
	t.Run("force-off during a graceful wait", func(t *testing.T) {
		s := met(t, nil)
		isOn(s)
		later(s, time.Hour, true)
		s.submit(Command{ID: "1", Kind: PowerOff})
		s.runFor(30 * time.Second)
		s.submit(Command{ID: "2", Kind: Reset, Reset: bmc.ResetForceOff})
		s.runFor(10 * time.Second)
		if diff := cmp.Diff([]string{"reset GracefulShutdown", "reset ForceOff"}, changes(s)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if s.status("1").State != Superseded || s.status("2").State != Succeeded {
			t.Errorf("%+v, %+v", s.status("1"), s.status("2"))
		}
		if got := s.observation().Systems[0].Command; got.ID != "2" {
			t.Errorf("newest command is %q", got.ID)
		}
	})
	t.Run("off while an ordered on does not show yet", func(t *testing.T) {
		s := met(t, nil)
		later(s, 12*time.Second, true)
		s.submit(Command{ID: "1", Kind: PowerOn})
		s.step()
		s.submit(Command{ID: "2", Kind: PowerOff}) // the machine still reads Off
		s.runFor(time.Minute)
		if diff := cmp.Diff([]string{`boot ""`, "reset On", "reset GracefulShutdown"}, changes(s)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if o := s.observation(); o.Systems[0].PowerState != bmc.PowerOff || s.status("2").State != Succeeded {
			t.Errorf("power %s, %+v", o.Systems[0].PowerState, s.status("2"))
		}
	})
	t.Run("off while an ordered on never shows", func(t *testing.T) {
		s := met(t, nil)
		later(s, time.Hour, true)
		s.submit(Command{ID: "1", Kind: PowerOn})
		s.step()
		s.submit(Command{ID: "2", Kind: PowerOff})
		s.runFor(time.Minute)
		if got := s.status("2"); got.State != Succeeded || got.End.Sub(got.Start) < 20*time.Second {
			t.Errorf("%+v", got)
		}
	})
	t.Run("on during a shutdown", func(t *testing.T) {
		s := met(t, nil)
		isOn(s)
		later(s, 40*time.Second, true)
		s.submit(Command{ID: "1", Kind: PowerOff})
		s.step()
		s.submit(Command{ID: "2", Kind: PowerOn}) // the machine still reads On
		s.runFor(3 * time.Minute)
		if diff := cmp.Diff([]string{"reset GracefulShutdown", `boot ""`, "reset On"}, changes(s)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if o := s.observation(); o.Systems[0].PowerState != bmc.PowerOn || s.status("2").State != Succeeded {
			t.Errorf("power %s, %+v", o.Systems[0].PowerState, s.status("2"))
		}
	})
	t.Run("not another system's", func(t *testing.T) {
		s := newStand(t, nil)
		second := *s.bmc.systems[0]
		second.URI = systemURI + "/b"
		s.bmc.systems = append(s.bmc.systems, &second)
		s.runFor(time.Second)
		s.submit(Command{ID: "1", Kind: PowerOn})
		s.submit(Command{ID: "2", Kind: PowerOn, System: second.URI})
		s.runFor(time.Minute)
		if s.status("1").State != Succeeded || s.status("2").State != Succeeded {
			t.Errorf("%+v, %+v", s.status("1"), s.status("2"))
		}
	})
}

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
