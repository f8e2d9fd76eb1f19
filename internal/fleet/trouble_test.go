package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// What the BMC answered to the last request stays visible while it is tried again: in the order itself, in its end, and in the
// orders of its kind that follow, until one comes true.
func TestTheAnswerStaysWhileItIsTriedAgain(t *testing.T) {
	answer := &bmc.Error{Kind: bmc.KindServer, Op: "POST Reset", StatusCode: 500, MessageID: "GeneralError", Message: "the sequencer is stuck"}
	for name, tc := range map[string]struct {
		call    string
		power   func(*stand)
		command Command
		ends    time.Duration
	}{
		"on":                     {"reset On", isOff, Command{Kind: PowerOn}, defaultBudget},
		"on, the override":       {"boot", isOff, Command{Kind: PowerOn, Boot: bmc.BootOverride{Target: bmc.BootPXE}}, defaultBudget},
		"off":                    {"reset", isOn, Command{Kind: PowerOff}, defaultBudget},
		"off, and by force then": {"reset", isOn, Command{Kind: PowerOff, Force: true, Budget: time.Minute}, time.Minute + forceBudget},
	} {
		t.Run(name, func(t *testing.T) {
			s := met(t, nil)
			tc.power(s)
			s.bmc.fail = failOn(tc.call, answer)
			began := s.clock.Now()
			tc.command.ID = "1"
			s.submit(tc.command)
			s.runFor(20 * time.Second)
			got := s.observation().Systems[0].Command
			if got.State != Running || !errors.Is(got.Trouble, answer) || got.TroubleSince.IsZero() || got.TroubleSince.After(began.Add(time.Second)) {
				t.Errorf("while it is tried: %+v", got)
			}
			s.told = 0
			s.runFor(30 * time.Second)
			if s.told != 0 {
				t.Errorf("the same answer again was news %d times", s.told)
			}
			s.runFor(10 * time.Minute)
			got = s.status("1")
			if got.State != Failed || !errors.Is(got.Err, ErrNotObserved) || !errors.Is(got.Err, answer) || !errors.Is(got.Trouble, answer) || errors.Is(got.Trouble, ErrNotObserved) {
				t.Errorf("at its end: %+v", got)
			}
			if after := got.End.Sub(began); after < tc.ends || after > tc.ends+time.Minute {
				t.Errorf("it ended after %s, want some %s", after, tc.ends)
			}
			since := got.TroubleSince
			tc.command.ID = "2"
			s.submit(tc.command)
			if got := s.observation().Systems[0].Command; got.ID != "2" || !errors.Is(got.Trouble, answer) || !got.TroubleSince.Equal(since) {
				t.Errorf("the next begins with %+v", got)
			}
			s.runFor(20 * time.Second)
			s.bmc.fail = nil
			s.runFor(time.Minute)
			if got := s.status("2"); got.State != Succeeded || got.Trouble != nil || !got.TroubleSince.IsZero() {
				t.Errorf("when it came true: %+v", got)
			}
		})
	}
}

// A BMC that takes every order and does nothing has no answer to show. That the last order did not come true is known all the same
// while the next is tried; an order of the other kind, and one that the BMC takes after it had refused it, begin anew.
func TestWhatTroubleIsHandedOn(t *testing.T) {
	s := met(t, nil)
	isOff(s)
	s.bmc.reset = func(*bmc.System, bmc.ResetType) {}
	s.submit(Command{ID: "1", Kind: PowerOn, Budget: time.Minute})
	s.runFor(2 * time.Minute)
	if got := s.status("1"); !errors.Is(got.Trouble, ErrNotObserved) || !got.TroubleSince.Equal(got.Start) {
		t.Errorf("a machine that does not go on: %+v", got)
	}
	s.submit(Command{ID: "2", Kind: PowerOn, Budget: time.Minute})
	s.runFor(30 * time.Second)
	if got := s.status("2"); got.State != Running || !errors.Is(got.Trouble, ErrNotObserved) {
		t.Errorf("the BMC took the next, which changes nothing: %+v", got)
	}
	isOn(s)
	s.submit(Command{ID: "3", Kind: PowerOff, Budget: time.Minute})
	if got := s.status("3"); got.Trouble != nil {
		t.Errorf("an order of the other kind: %+v", got)
	}
	s.bmc.fail = failOn("reset", errServer)
	s.runFor(20 * time.Second)
	if got := s.status("3"); !errors.Is(got.Trouble, errServer) {
		t.Errorf("refused: %+v", got)
	}
	s.bmc.fail = nil
	s.runFor(20 * time.Second)
	if got := s.status("3"); got.Sent == "" || got.Trouble != nil {
		t.Errorf("taken after it was refused: %+v", got)
	}
}

// An order whose answer never came is no trouble yet, and names that when nothing comes of it.
func TestAnOrderThatGotLostNamesIt(t *testing.T) {
	s := met(t, nil)
	isOff(s)
	s.bmc.fail = failOn("reset On", errTimeout)
	s.submit(Command{ID: "1", Kind: PowerOn, Budget: 2 * time.Minute})
	s.runFor(20 * time.Second)
	if got := s.status("1"); got.Trouble != nil {
		t.Errorf("it may have arrived: %+v", got)
	}
	s.runFor(10 * time.Minute)
	if got := s.status("1"); got.State != Failed || !errors.Is(got.Err, errTimeout) || !errors.Is(got.Err, ErrNotObserved) {
		t.Errorf("at its end: %+v", got)
	}
}
