package fleet

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

// begin runs a fleet until end is called.
func begin(t *testing.T, f *Fleet) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// crowd lets a fleet meet that many BMCs at once, and returns its diary and how many were being asked at a time.
func crowd(t *testing.T, bmcs int, hangs func(int) bool, watched time.Duration) (d *diary, unseen, busiest int) {
	t.Helper()
	return crowdOf(t, bmcs, hangs, watched, latency, false)
}

// crowdOf is a crowd of BMCs that take that long for each answer, in a process that is busy or not.
func crowdOf(t *testing.T, bmcs int, hangs func(int) bool, watched, answers time.Duration, busy bool) (d *diary, unseen, busiest int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d = &diary{asked: map[int][]time.Duration{}, flying: map[int]int{}, at: time.Now(), hangs: hangs, refuses: none, latency: answers}
		f := New(Options{Seed: 5, NewClient: func(s Spec) Client { return slow{diary: d, port: s.Endpoint.Port} }})
		f.firstContacts.busy = func() bool { return busy }
		f.turns.busy = f.firstContacts.busy
		var keys []Key
		for port := range bmcs {
			keys = append(keys, f.Ensure(at(port+1)))
		}
		end := begin(t, f)
		for began := time.Now(); time.Since(began) < watched; time.Sleep(latency / 2) {
			busiest = max(busiest, d.busy())
		}
		for i, key := range keys {
			if o, _ := f.Observe(key); o.Sequence == 0 && !hangs(i+1) {
				unseen++
			}
		}
		end()
	})
	return d, unseen, busiest
}

// busy counts the BMCs that are being asked.
func (d *diary) busy() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, flying := range d.flying {
		n += flying
	}
	return n
}

// However many BMCs there are, no more than so many are met at a time.
func TestFirstContactsAreBounded(t *testing.T) {
	const bmcs = 8 * minFirstContacts
	d, unseen, busiest := crowd(t, bmcs, none, time.Minute)
	if busiest > minFirstContacts {
		t.Errorf("%d BMCs were asked at a time, want at most %d", busiest, minFirstContacts)
	}
	if unseen > 0 || len(d.asked) != bmcs {
		t.Errorf("%d of %d BMCs were not met within a minute; asked %d", unseen, bmcs, len(d.asked))
	}
}

// BMCs that hang, enough of them to fill the room several times, and all of them first in line: each holds its place for
// no longer than patience, so that the healthy ones behind them are contacted soon.
func TestHungBMCsDoNotBlockFirstContacts(t *testing.T) {
	const hung, healthy = 4 * minFirstContacts, 200
	limit := 2*(hung/minFirstContacts)*patience + startSpread*(hung+healthy) + 2*time.Second
	_, unseen, busiest := crowd(t, hung+healthy, first(hung), limit)
	if unseen > 0 {
		t.Errorf("%d of %d healthy BMCs were not met within %s", unseen, healthy, limit)
	}
	if most := minFirstContacts * int(10*time.Second/patience+1); busiest > most {
		t.Errorf("%d requests waited at a time, want at most %d", busiest, most)
	}
}

// Where all BMCs are slow and this process has time, more and more are met at once, up to a limit: most of them a good deal sooner than
// a fixed number at a time would be. In a process that is busy it stays with that.
func TestSlowBMCsAreMetTogether(t *testing.T) {
	const bmcs = 16 * minFirstContacts
	const answers = 3 * time.Second // four of them make a first contact
	fixed := bmcs / minFirstContacts * patience
	limit := fixed/2 + 4*answers + startSpread*bmcs
	_, unseen, busiest := crowdOf(t, bmcs, none, limit, answers, false)
	if unseen > 0 {
		t.Errorf("%d of %d BMCs were not met within %s; a fixed limit takes %s", unseen, bmcs, limit, fixed+4*answers)
	}
	if most := maxFirstContacts * int(4*answers/patience+1); busiest > most {
		t.Errorf("%d BMCs were asked at a time, want at most %d", busiest, most)
	}
	_, unseen, busiest = crowdOf(t, bmcs, none, limit, answers, true)
	if most := minFirstContacts * int(4*answers/patience+1); unseen == 0 || busiest > most {
		t.Errorf("busy: %d BMCs were asked at a time, want at most %d; %d were not met within %s", busiest, most, unseen, limit)
	}
}

// What came of a contact moves the limit, within bounds; a failure does not.
func TestLimitOfFirstContacts(t *testing.T) {
	now := testclock.NewFakeClock(time.Unix(1e9, 0))
	busy := false
	d := newFirstContactLimiter(now, func() bool { return busy })
	for _, step := range []struct {
		name  string
		busy  bool
		took  time.Duration
		times int
		want  int
	}{
		{"quick ones change nothing", false, patience, 3, minFirstContacts},
		{"slow ones raise it", false, patience + 1, 10, minFirstContacts + 10},
		{"up to a limit", false, 6 * time.Second, 2 * maxFirstContacts, maxFirstContacts},
		{"a busy process lowers it", true, 6 * time.Second, 1, (maxFirstContacts + minFirstContacts) / 2},
		{"but once in a while", true, time.Second, 100, (maxFirstContacts + minFirstContacts) / 2},
	} {
		busy = step.busy
		for range step.times {
			d.adapt(step.took)
		}
		if d.limit != step.want {
			t.Fatalf("%s: %d, want %d", step.name, d.limit, step.want)
		}
	}
	for range 20 {
		now.Step(patience)
		d.adapt(time.Second)
	}
	if d.limit != minFirstContacts {
		t.Errorf("a process that stays busy has a limit of %d, want %d", d.limit, minFirstContacts)
	}
}

// Those who wait are admitted in the order of arrival, and one that gives up takes no place.
func TestFirstContactsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFirstContactLimiter(clock.RealClock{}, func() bool { return false })
		d.limit = 1
		leave := d.enter(t.Context())
		var order []int
		ctx, giveUp := context.WithCancel(t.Context())
		for i := range 3 {
			mine := t.Context()
			if i == 1 {
				mine = ctx
			}
			go func() {
				leave := d.enter(mine)
				if mine.Err() == nil {
					order = append(order, i)
				}
				leave(true)
			}()
			synctest.Wait()
		}
		giveUp()
		synctest.Wait()
		leave(true)
		synctest.Wait()
		if !slices.Equal(order, []int{0, 2}) || d.inside() != 0 || d.waiting.Len() != 0 {
			t.Errorf("admitted %v, %d in, %d waiting", order, d.inside(), d.waiting.Len())
		}
	})
}

// An actor stops waiting when the fleet ends, and each contact counts once, however it ended.
func TestFirstContactLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFirstContactLimiter(clock.RealClock{}, func() bool { return false })
		var leave []func(bool)
		for range minFirstContacts {
			leave = append(leave, d.enter(t.Context()))
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		d.enter(ended)(true) // there is no room: it returns all the same, and has nothing to give back
		leave[0](true)
		leave[0](true)
		synctest.Wait()
		if n := d.inside(); n != minFirstContacts-1 {
			t.Errorf("%d are in after one has left, want %d", n, minFirstContacts-1)
		}
		time.Sleep(patience)
		synctest.Wait()
		if n := d.inside(); n != 0 {
			t.Errorf("%d are in after the time of all is over", n)
		}
		for _, f := range leave {
			f(true)
		}
		synctest.Wait()
		if n := d.inside(); n != 0 {
			t.Errorf("%d are in after all have left", n)
		}
	})
}
