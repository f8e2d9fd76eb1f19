package dhcp

import (
	"fmt"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

func allow(l *Limiter, c Client, s Standing) bool { return l.Client(c.MAC) && l.Standing(s) }

func TestStrangersDoNotUseUpWhatIsForKnownMachines(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	l := NewLimiter(clock)
	allowed := 0
	for n := range 5000 {
		if allow(l, Client{MAC: fmt.Sprintf("02:00:00:00:%02x:%02x", n>>8, n&0xff)}, Unknown) {
			allowed++
		}
	}
	if allowed != allStrangersAtOnce {
		t.Errorf("%d strangers, want %d", allowed, allStrangersAtOnce)
	}
	for n := range 5000 {
		if !allow(l, Client{MAC: fmt.Sprintf("52:54:00:00:%02x:%02x", n>>8, n&0xff)}, Known) {
			t.Fatalf("known machine %d is not answered", n)
		}
	}
}

func TestOneMachineIsLimited(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	l := NewLimiter(clock)
	loud := Client{MAC: "52:54:00:00:00:01"}
	allowed := 0
	for range 100 {
		if allow(l, loud, Known) {
			allowed++
		}
	}
	if allowed != perMachineAtOnce {
		t.Errorf("%d at once, want %d", allowed, perMachineAtOnce)
	}
	if !allow(l, Client{MAC: "52:54:00:00:00:02"}, Known) {
		t.Error("another machine pays for it")
	}
	clock.SetTime(clock.Now().Add(time.Second))
	for n := range perMachine {
		if !allow(l, loud, Known) {
			t.Errorf("a second later, request %d is refused", n)
		}
	}
}
