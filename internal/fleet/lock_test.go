package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func (s *stand) lock(holder string, d time.Duration) error { return s.fleet.Lock(s.key, holder, d) }

func TestExclusiveLock(t *testing.T) {
	s := met(t, nil)
	if err := s.lock("update", time.Hour); err != nil {
		t.Fatal(err)
	}
	if n := s.fleet.survey(s.clock.Now()).locks; n != 1 {
		t.Errorf("%d locks are counted", n)
	}
	if err := s.lock("rotation", time.Hour); !errors.Is(err, ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	s.submit(Command{ID: "theirs", Kind: PowerOn, Budget: 3 * time.Hour})
	s.do(Job{ID: "ours", Holder: "update", Run: firmware})
	s.fleet.Refresh(s.key)
	s.runFor(10 * time.Minute)
	if got := s.status("theirs"); got.State != Queued || !errors.Is(got.Err, ErrLocked) {
		t.Errorf("somebody else's: %+v", got)
	}
	if got := s.status("ours"); got.State != Succeeded {
		t.Errorf("the holder's: %+v", got)
	}
	o := s.observation()
	if o.LockedBy != "update" || s.clock.Now().Sub(o.Time) > s.fleet.options.PollInterval {
		t.Errorf("observation %+v", o)
	}
	for _, call := range s.bmc.calls() {
		if call != "firmware" && call != "system" && call != "list" && call != "manager" {
			t.Errorf("%s during the lock", call)
		}
	}
	s.told = 0
	s.fleet.Unlock(s.key, "rotation") // not its own
	s.fleet.Unlock(s.key, "update")
	s.runFor(10 * time.Second)
	if got := s.status("theirs"); got.State != Succeeded {
		t.Errorf("after the lock: %+v", got)
	}
	if n := s.fleet.survey(s.clock.Now()).locks; n != 0 {
		t.Errorf("%d locks are still counted", n)
	}
	if s.observation().LockedBy != "" || s.told == 0 {
		t.Error("nobody was told that the lock ended")
	}
}

// A holder that died holds nobody up for longer than it said.
func TestExclusiveLockExpires(t *testing.T) {
	s := met(t, nil)
	if err := s.lock("update", 3*time.Minute); err != nil {
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
	if err := s.lock("rotation", time.Minute); err != nil {
		t.Error(err)
	}
}

// A command that waits for a lock fails like one that waits for a BMC, and its error names the lock.
func TestCommandDoesNotOutliveALongLock(t *testing.T) {
	s := met(t, nil)
	if err := s.lock("update", 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	s.submit(Command{ID: "1", Kind: PowerOn, Budget: time.Minute})
	s.runFor(time.Hour)
	if got := s.status("1"); got.State != Failed || !errors.Is(got.Err, ErrNotBegun) || !errors.Is(got.Err, ErrLocked) {
		t.Errorf("%+v", got)
	}
}

// What has begun is not interrupted: whoever wants the BMC waits for it.
func TestNoLockDuringACommand(t *testing.T) {
	s := met(t, nil)
	isOn(s)
	later(s, time.Minute, true)
	s.submit(Command{ID: "1", Kind: PowerOff})
	s.step()
	if err := s.lock("update", time.Hour); !errors.Is(err, ErrBusy) {
		t.Errorf("while a command runs: %v", err)
	}
	s.runFor(10 * time.Minute)
	if err := s.lock("update", time.Hour); err != nil {
		t.Errorf("after it: %v", err)
	}
	for name, err := range map[string]error{
		"no holder":   s.lock("", time.Hour),
		"unknown BMC": s.fleet.Lock("nowhere", "update", time.Hour),
	} {
		if err == nil {
			t.Errorf("%s: locked", name)
		}
	}
	s.fleet.Unlock("nowhere", "update")
}

// Events have a BMC polled early, and a storm of them has it polled hardly more often.
func TestPollSoon(t *testing.T) {
	s := met(t, nil)
	s.runFor(30 * time.Second)
	s.fleet.PollSoon(s.key)
	s.fleet.PollSoon("nowhere")
	s.runFor(0)
	if diff := cmp.Diff([]string{"system"}, s.bmc.calls()); diff != "" {
		t.Errorf("after an event (-want +got):\n%s", diff)
	}
	for range 60 {
		s.fleet.PollSoon(s.key)
		s.runFor(time.Second)
	}
	if n := len(s.bmc.calls()); n < 5 || n > 6 {
		t.Errorf("%d polls in a minute of events, want one in 10 s", n)
	}
	s.bmc.fail = failing(errTimeout)
	s.runFor(10 * time.Minute)
	s.bmc.calls()
	for range 60 {
		s.fleet.PollSoon(s.key)
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
