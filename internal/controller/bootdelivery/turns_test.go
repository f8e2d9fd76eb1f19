package bootdelivery

import (
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestTurns: those that come together go at the pace at first, and then faster and faster; whoever comes alone waits for nobody.
func TestTurns(t *testing.T) {
	const pace = 100 * time.Millisecond
	for machines, most := range map[int]time.Duration{
		1: 0, 2: pace, 100: 99 * pace, 1_000: 80 * time.Second, 10_000: 4*time.Minute + 15*time.Second, 100_000: 8 * time.Minute,
	} {
		ts, now := turns{patience, pace}, controllertest.Start
		var last time.Time
		for i := range machines {
			next := ts.next(last, now)
			if next.Before(now.Add(patience)) || i > 0 && !next.After(last) {
				t.Fatalf("turn %d of %d is at %s, after %s", i, machines, next, last)
			}
			last = next
		}
		if waited := last.Sub(now.Add(patience)); waited > most {
			t.Errorf("the last of %d machines waits for %s, want at most %s", machines, waited, most)
		}
		later := last.Add(time.Second)
		if next := ts.next(last, later); !next.Equal(later.Add(patience)) {
			t.Errorf("somebody who comes alone after %d waits for %s", machines, next.Sub(later))
		}
	}
	if next := (turns{}).next(controllertest.Start, controllertest.Start); !next.Equal(controllertest.Start) {
		t.Errorf("without a pace and patience it is said in %s", next.Sub(controllertest.Start))
	}
}

// TestBootConfigsTakeTurns: what is delivered to several machines at a time is said one after the other, and all of it is.
func TestBootConfigsTakeTurns(t *testing.T) {
	const pace = time.Second
	first, second := handWritten("c"), handWritten("d")
	second.Spec.SystemUUID = "00000000-0000-0000-0000-000000000002"
	s := newStand(t, first, second)
	s.Patience, s.Pace = patience, pace
	s.Settle(t, s.ipxe, "ns/c")
	s.Settle(t, s.ipxe, "ns/d")
	s.Delivered(fetched(bootview.DeliveredScript, "", "10.0.0.7"))
	other := fetched(bootview.DeliveredScript, "", "10.0.0.8")
	other.Entry = "IPXEBootConfig/ns/d"
	s.Delivered(other)
	s.Delivered(fetched(bootview.DeliveredArtifact, "", "10.0.0.7")) // it goes with the script, and takes no turn

	says := func(what, name string, writes int, again time.Duration) {
		t.Helper()
		s.ForgetWrites()
		if got := s.Settle(t, s.ipxe, name).RequeueAfter; got != again {
			t.Errorf("%s: it is to be said in %s, want %s", what, got, again)
		}
		if w := s.Writes(""); len(w) != writes {
			t.Errorf("%s: %d writes, want %d: %v", what, len(w), writes, w)
		}
	}
	says("too early", "ns/c", 0, patience)
	says("too early", "ns/d", 0, patience+pace)
	s.API.Clock.Step(patience)
	says("in time", "ns/c", 1, 0)
	says("the other's turn", "ns/d", 0, pace)
	s.API.Clock.Step(pace)
	says("in its turn", "ns/d", 1, 0)
}
