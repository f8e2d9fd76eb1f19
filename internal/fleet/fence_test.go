package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func (s *stand) fence(holder string, d time.Duration) error { return s.fleet.Fence(s.key, holder, d) }

func TestFence(t *testing.T) {
	s := met(t, nil)
	if err := s.fence("update", time.Hour); err != nil {
		t.Fatal(err)
	}
	if n := s.fleet.survey(s.clock.Now()).fences; n != 1 {
		t.Errorf("%d fences are counted", n)
	}
	if err := s.fence("rotation", time.Hour); !errors.Is(err, ErrFenced) {
		t.Errorf("a second one: %v", err)
	}
	s.submit(Command{ID: "theirs", Kind: PowerOn, Budget: 3 * time.Hour})
	s.do(Job{ID: "ours", Holder: "update", Run: firmware})
	s.fleet.Refresh(s.key)
	s.runFor(10 * time.Minute)
	if got := s.status("theirs"); got.State != Queued || !errors.Is(got.Err, ErrFenced) {
		t.Errorf("somebody else's: %+v", got)
	}
	if got := s.status("ours"); got.State != Succeeded {
		t.Errorf("the holder's: %+v", got)
	}
	o := s.observation()
	if o.Fence != "update" || s.clock.Now().Sub(o.Time) > s.fleet.options.PollInterval {
		t.Errorf("observation %+v", o)
	}
	for _, call := range s.bmc.calls() {
		if call != "firmware" && call != "system" && call != "list" && call != "manager" {
			t.Errorf("%s behind the fence", call)
		}
	}
	s.told = 0
	s.fleet.Unfence(s.key, "rotation") // not its own
	s.fleet.Unfence(s.key, "update")
	s.runFor(10 * time.Second)
	if got := s.status("theirs"); got.State != Succeeded {
		t.Errorf("after the fence: %+v", got)
	}
	if n := s.fleet.survey(s.clock.Now()).fences; n != 0 {
		t.Errorf("%d fences are still counted", n)
	}
	if s.observation().Fence != "" || s.told == 0 {
		t.Error("nobody was told that the fence fell")
	}
}

// A holder that died holds nobody up for longer than it said.
func TestFenceFallsByItself(t *testing.T) {
	s := met(t, nil)
	if err := s.fence("update", 3*time.Minute); err != nil {
		t.Fatal(err)
	}
	s.submit(Command{ID: "1", Kind: PowerOn})
	s.runFor(3*time.Minute - time.Second)
	if got := s.status("1"); got.State != Queued {
		t.Errorf("early: %+v", got)
	}
	s.runFor(10 * time.Second)
	if got := s.status("1"); got.State != Succeeded {
		t.Errorf("late: %+v", got)
	}
	if err := s.fence("rotation", time.Minute); err != nil {
		t.Error(err)
	}
}

// What waits for a fence fails as what waits for a BMC does, and says what it waited for.
func TestCommandDoesNotOutliveALongFence(t *testing.T) {
	s := met(t, nil)
	if err := s.fence("update", 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	s.submit(Command{ID: "1", Kind: PowerOn, Budget: time.Minute})
	s.runFor(time.Hour)
	if got := s.status("1"); got.State != Failed || !errors.Is(got.Err, ErrNotBegun) || !errors.Is(got.Err, ErrFenced) {
		t.Errorf("%+v", got)
	}
}

// What has begun is not interrupted: whoever wants the BMC waits for it.
func TestNoFenceIntoACommand(t *testing.T) {
	s := met(t, nil)
	isOn(s)
	later(s, time.Minute, true)
	s.submit(Command{ID: "1", Kind: PowerOff})
	s.step()
	if err := s.fence("update", time.Hour); !errors.Is(err, ErrBusy) {
		t.Errorf("while a command runs: %v", err)
	}
	s.runFor(10 * time.Minute)
	if err := s.fence("update", time.Hour); err != nil {
		t.Errorf("after it: %v", err)
	}
	for name, err := range map[string]error{
		"no holder":   s.fence("", time.Hour),
		"unknown BMC": s.fleet.Fence("nowhere", "update", time.Hour),
	} {
		if err == nil {
			t.Errorf("%s: a fence", name)
		}
	}
	s.fleet.Unfence("nowhere", "update")
}

// Events have a BMC polled early, and a storm of them has it polled hardly more often.
func TestPoke(t *testing.T) {
	s := met(t, nil)
	s.runFor(30 * time.Second)
	s.fleet.Poke(s.key)
	s.fleet.Poke("nowhere")
	s.runFor(0)
	if diff := cmp.Diff([]string{"system"}, s.bmc.calls()); diff != "" {
		t.Errorf("after an event (-want +got):\n%s", diff)
	}
	for range 60 {
		s.fleet.Poke(s.key)
		s.runFor(time.Second)
	}
	if n := len(s.bmc.calls()); n < 5 || n > 6 {
		t.Errorf("%d polls in a minute of events, want one in 10 s", n)
	}
	s.bmc.fail = failing(errTimeout)
	s.runFor(10 * time.Minute)
	s.bmc.calls()
	for range 60 {
		s.fleet.Poke(s.key)
		s.runFor(time.Second)
	}
	if n := len(s.bmc.calls()); n > 1 {
		t.Errorf("%d requests during back-off", n)
	}
}

func TestCircuit(t *testing.T) {
	s := newStand(t, nil)
	if got := s.observation().Circuit; got != CircuitUnknown {
		t.Errorf("at first: %q", got)
	}
	s.runFor(time.Second)
	for _, test := range []struct {
		err  error
		want Circuit
	}{
		{nil, CircuitClosed},
		{errTimeout, CircuitOpen},
		{&bmc.Error{Kind: bmc.KindServer, StatusCode: 503, RetryAfter: time.Hour}, CircuitAsked},
		{errAuth, CircuitRefused},
		{nil, CircuitClosed},
	} {
		s.bmc.fail = failing(test.err)
		s.runFor(11 * time.Minute)
		o := s.observation()
		if o.Circuit != test.want || (o.Failures == 0) != (test.err == nil) || !o.Retry.IsZero() && o.Retry.Before(s.clock.Now()) {
			t.Errorf("%v: circuit %q, %d failures, retry at %s", test.err, o.Circuit, o.Failures, o.Retry)
		}
	}
}
