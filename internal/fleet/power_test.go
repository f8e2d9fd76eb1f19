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
