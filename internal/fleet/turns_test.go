package fleet

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// TestTurnsAtATime: a busy process has fewer and fewer turns, down to a minimum, and soon no limit when it no longer is.
func TestTurnsAtATime(t *testing.T) {
	limit := anyTurns
	for _, want := range []int{750, 562, 421, 315, 236, 177, 132, minTurns, minTurns} {
		if limit = turnsAtATime(limit, min(limit, 1000), true); limit != want {
			t.Fatalf("limit %d, want %d", limit, want)
		}
	}
	for range 30 {
		limit = turnsAtATime(limit, limit, false)
	}
	if limit != anyTurns {
		t.Errorf("limit %d, want none", limit)
	}
	if limit = turnsAtATime(limit, 3, true); limit != minTurns {
		t.Errorf("with three turns under way: limit %d, want %d", limit, minTurns)
	}
}

// TestBusyFleetTakesTurns: in a busy process, polls of a large fleet have their BMCs asked some at a time, although more are due; all of them are
// asked. BMCs that hang do not keep the others from that.
func TestBusyFleetTakesTurns(t *testing.T) {
	const bmcs, answers, interval = 16 * minTurns, time.Second, 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		d := &diary{asked: map[int][]time.Duration{}, flying: map[int]int{}, at: time.Now(), hangs: none, refuses: none, latency: answers}
		f := New(Options{Seed: 5, PollInterval: interval, NewClient: func(s Spec) Client { return slow{diary: d, port: s.Endpoint.Port} }})
		f.turns.busy = func() bool { return true }
		for port := range bmcs {
			f.Ensure(at(port + 1))
		}
		end := begin(t, f)
		time.Sleep(2 * time.Minute) // all are met
		before, busiest := d.requests(), 0
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			busiest = max(busiest, d.busy())
		}
		if busiest != minTurns {
			t.Errorf("%d BMCs were asked at a time, want %d: more are due", busiest, minTurns)
		}
		for port, n := range d.requests() {
			if n == before[port] {
				t.Errorf("BMC %d was not asked within a minute", port)
			}
		}
		end()
	})
	const hung = 4 * minTurns
	if _, unseen, _ := crowdOf(t, bmcs, first(hung), time.Minute, latency, true); unseen > 0 {
		t.Errorf("%d BMCs were not met within a minute, behind %d that hang", unseen, hung)
	}
}

// requests counts what each BMC was asked so far.
func (d *diary) requests() map[int]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := map[int]int{}
	for port, asked := range d.asked {
		n[port] = len(asked)
	}
	return n
}

// TestRoomForTurns: who waits for room is admitted in the order of arrival; a command that arrives meanwhile does not wait for polls, and one that is
// there already does not either.
func TestRoomForTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTurnLimiter(clock.RealClock{}, func() bool { return true })
		l.limit = 1
		never := func() bool { return false }
		leave := l.enter(t.Context(), never, nil)
		var order []string
		ordered, woken, mail := false, make(chan struct{}), make(chan struct{})
		ended, end := context.WithCancel(t.Context())
		for _, turn := range []struct {
			name   string
			ctx    context.Context
			urgent func() bool
			woken  chan struct{}
		}{
			{"first", t.Context(), never, mail}, {"ended", ended, never, nil}, {"ordered", t.Context(), func() bool { return ordered }, woken},
			{"last", t.Context(), never, nil}, {"urgent", t.Context(), func() bool { return true }, nil},
		} {
			go func() {
				leave := l.enter(turn.ctx, turn.urgent, turn.woken)
				order = append(order, turn.name)
				leave()
				leave()
			}()
			synctest.Wait()
		}
		end()
		synctest.Wait()
		mail <- struct{}{} // that is not urgent: the turn goes on waiting
		ordered = true
		woken <- struct{}{}
		synctest.Wait()
		leave()
		synctest.Wait()
		if want := []string{"urgent", "ended", "ordered", "first", "last"}; !slices.Equal(order, want) || l.inside() != 0 || l.waiting.Len() != 0 {
			t.Errorf("%q, want %q; %d in, %d waiting", order, want, l.inside(), l.waiting.Len())
		}
	})
}

// inside counts those that were let in and have not left.
func (g *gate) inside() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.in
}
