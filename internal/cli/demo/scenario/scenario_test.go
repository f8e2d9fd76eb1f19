package scenario

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/cli/demo/show"
	"github.com/farrier-dev/farrier/internal/sim"
)

// stepping is a clock on which time passes only when a step waits: pace for each look at the world.
type stepping struct{ *clocktesting.FakeClock }

func newClock() stepping { return stepping{clocktesting.NewFakeClock(noon)} }

func (c stepping) NewTicker(d time.Duration) clock.Ticker {
	return ticker{c.FakeClock.NewTicker(d), c}
}

type ticker struct {
	clock.Ticker
	clock stepping
}

func (t ticker) C() <-chan time.Time {
	t.clock.Step(pace)
	return t.Ticker.C()
}

func TestScenario(t *testing.T) {
	s, _ := rack(t, 3, 2)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := s.Result(nil)
	if !r.OK || len(r.Steps) != len(s.all) || len(r.Servers) != 3 || len(r.Claims) != 2 || r.BootSeconds < 0 {
		t.Errorf("ok %v, %d steps of %d, %d servers, %d claims", r.OK, len(r.Steps), len(s.all), len(r.Servers), len(r.Claims))
	}
	var states []string
	for _, c := range r.Servers[0].States {
		states = append(states, c.Value)
	}
	if diff := cmp.Diff([]string{"Initial", "Discovery", "Available", "Reserved", "Cleanup", "Available"}, states); diff != "" {
		t.Errorf("states of the first server (-want +got):\n%s", diff)
	}
	for _, c := range r.Claims {
		if !c.OK || len(c.Files) != 4 || len(c.Phases) != 6 {
			t.Errorf("claim %s: ok %v, files %+v, phases %+v", c.Name, c.OK, c.Files, c.Phases)
		}
		checkStory(t, c.Events)
	}
	if f := s.Frame(); f.Number != f.Steps+1 || len(f.Servers) != 3 || f.Servers[0].State != "Available" {
		t.Errorf("last frame: %+v", f)
	}
}

// checkStory wants every part of the life of a server, in order.
func checkStory(t *testing.T, events []show.Event) {
	t.Helper()
	var parts []string
	for i, e := range events {
		if len(parts) == 0 || parts[len(parts)-1] != e.Part {
			parts = append(parts, e.Part)
		}
		if i > 0 && e.At.Before(events[i-1].At) {
			t.Errorf("%s is told after %s and was before it", e.What, events[i-1].What)
		}
	}
	if diff := cmp.Diff([]string{"found", "discovered", "claimed", "released"}, parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestScenarioFails(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(*Scenario, *system)
		step   string
		why    string
	}{
		"start": {func(s *Scenario, _ *system) {
			s.options.Start = func(context.Context) (*Lab, error) { return nil, errors.New("port taken") }
		}, stepSystem, "port taken"},
		"password": {func(_ *Scenario, sys *system) { sys.refusesPassword = true }, stepConnected, "BMC sim-0001: AuthenticationFailed: 401"},
		"image":    {func(_ *Scenario, sys *system) { sys.bootProblem = "no initramfs" }, stepReady, "claim default/demo-1: BootConfigurationError: no initramfs"},
		"machine": {func(_ *Scenario, sys *system) { sys.boot.Outcome, sys.boot.Why = sim.OutcomeFailed, "iPXE: HTTP 404" },
			stepBooted, "claim default/demo-1: machine of Server sim-0001-system-0 failed to boot: iPXE: HTTP 404"},
		"kernel":  {func(_ *Scenario, sys *system) { failAll(&sys.boot, sim.WhatKernel) }, stepVerified, "claim default/demo-1: kernel: the machine did not fetch it"},
		"cleanup": {func(_ *Scenario, sys *system) { sys.cleanup = false }, stepCleaned, "not within 30.5s: Server sim-0001-system-0 has not been in state Cleanup yet"},
	} {
		t.Run(name, func(t *testing.T) {
			s, sys := rack(t, 2, 1)
			c.damage(s, sys)
			err := s.Run(t.Context())
			var failure *Failure
			if !errors.As(err, &failure) || failure.Step != c.step || failure.Why.Error() != c.why {
				t.Fatalf("error %v; want step %q: %s", err, c.step, c.why)
			}
			r := s.Result(err)
			last := r.Steps[len(r.Steps)-1]
			if r.OK || r.FailedStep != c.step || r.Why != c.why || last.OK || last.Name != c.step || last.Why != c.why {
				t.Errorf("result: ok %v, step %q, why %q; last step %+v", r.OK, r.FailedStep, r.Why, last)
			}
		})
	}
}

// TestPatience: where more time is given each step has more, and never less.
func TestPatience(t *testing.T) {
	clk := newClock()
	usual := New(Options{Servers: 3, Claims: 1, Clock: clk}).all
	for patience, factor := range map[float64]time.Duration{0: 1, 0.5: 1, 1: 1, 4: 4} {
		for i, st := range New(Options{Servers: 3, Claims: 1, Patience: patience, Clock: clk}).all {
			if want := usual[i].budget * factor; st.budget != want {
				t.Errorf("patience %v: step %q has %s, want %s", patience, st.name, st.budget, want)
			}
		}
	}
}

// TestGrace: what looks broken for a while and heals is no failure, and time does not add up over breaks.
func TestGrace(t *testing.T) {
	clock := newClock()
	s := New(Options{Servers: 1, Claims: 1, Grace: 10 * time.Second, Clock: clock})
	st := &step{name: "x", budget: time.Hour, check: func(*State) verdict {
		t := clock.Since(noon)
		switch {
		case t > 25*time.Second:
			return verdict{want: 1, have: 1}
		case t > 9*time.Second && t < 12*time.Second:
			return verdict{want: 1, waiting: []string{"it"}}
		}
		return verdict{want: 1, broken: []string{"it"}}
	}}
	s.all = []step{*st}
	err := s.Run(t.Context())
	if err == nil || err.Error() != `step "x": it` {
		t.Fatalf("error %v, want that it is broken", err)
	}
	if took := clock.Since(noon); took < 22*time.Second || took > 25*time.Second {
		t.Errorf("gave up after %s, want 10 s after it was last well", took)
	}
}

func TestInterrupted(t *testing.T) {
	over := errors.New("--timeout 1m0s is over")
	for name, c := range map[string]struct {
		end  func(context.CancelCauseFunc)
		want string
	}{
		"by the user": {func(end context.CancelCauseFunc) { end(nil) }, `step "x": interrupted: it waits`},
		"by time":     {func(end context.CancelCauseFunc) { end(over) }, `step "x": --timeout 1m0s is over: it waits`},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{Servers: 1, Claims: 1, Clock: newClock()})
			ctx, end := context.WithCancelCause(t.Context())
			s.all = []step{{name: "x", budget: time.Hour, check: func(*State) verdict {
				c.end(end)
				return verdict{want: 1, waiting: []string{"it waits"}}
			}}}
			if err := s.Run(ctx); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestEnumerate(t *testing.T) {
	all := strings.Split("a b c d e", " ")
	if got, want := enumerate(all), "a; b; c; and 2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := enumerate(all[:2]), "a; b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEveryStepIsTold: one sentence for each, which fits a terminal of 80 columns.
func TestEveryStepIsTold(t *testing.T) {
	told := map[string]bool{}
	for _, st := range New(Options{Servers: 1, Claims: 1, Clock: clock.RealClock{}}).all {
		if st.means == "" || len(st.means) > 80 || told[st.means] {
			t.Errorf("step %q is told as %q", st.name, st.means)
		}
		told[st.means] = true
	}
}
