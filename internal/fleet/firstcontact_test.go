package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// crowd lets a fleet meet that many BMCs at once, and returns its diary and how many were being asked at a time.
func crowd(t *testing.T, bmcs int, hangs func(int) bool, watched time.Duration) (d *diary, unseen, busiest int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d = &diary{asked: map[int][]time.Duration{}, flying: map[int]int{}, at: time.Now(), hangs: hangs, refuses: none}
		f := New(Options{Seed: 5, NewClient: func(s Spec) Client { return slow{diary: d, port: s.Endpoint.Port} }})
		var keys []Key
		for port := range bmcs {
			keys = append(keys, f.Ensure(at(port+1)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		for began := time.Now(); time.Since(began) < watched; time.Sleep(latency / 2) {
			busiest = max(busiest, d.busy())
		}
		for i, key := range keys {
			if o, _ := f.Observe(key); o.Sequence == 0 && !hangs(i+1) {
				unseen++
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
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
	const bmcs = 8 * maxFirstContacts
	d, unseen, busiest := crowd(t, bmcs, none, time.Minute)
	if busiest > maxFirstContacts {
		t.Errorf("%d BMCs were asked at a time, want at most %d", busiest, maxFirstContacts)
	}
	if unseen > 0 || len(d.asked) != bmcs {
		t.Errorf("%d of %d BMCs were not met within a minute; asked %d", unseen, bmcs, len(d.asked))
	}
}

// BMCs that hang, enough of them to fill the room several times, and all of them first in line: each holds its place for
// no longer than patience, so that the healthy ones behind them are contacted soon.
func TestHungBMCsDoNotBlockFirstContacts(t *testing.T) {
	const hung, healthy = 4 * maxFirstContacts, 200
	limit := 2*(hung/maxFirstContacts)*patience + startSpread*(hung+healthy) + 2*time.Second
	_, unseen, busiest := crowd(t, hung+healthy, first(hung), limit)
	if unseen > 0 {
		t.Errorf("%d of %d healthy BMCs were not met within %s", unseen, healthy, limit)
	}
	if most := maxFirstContacts * int(10*time.Second/patience+1); busiest > most {
		t.Errorf("%d requests waited at a time, want at most %d", busiest, most)
	}
}

// An actor stops waiting when the fleet ends, and each contact counts once, however it ended.
func TestFirstContactLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFirstContactLimiter(clock.RealClock{})
		var leave []func()
		for range maxFirstContacts {
			leave = append(leave, d.enter(t.Context()))
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		d.enter(ended)() // there is no room: it returns all the same, and has nothing to give back
		leave[0]()
		leave[0]()
		synctest.Wait()
		if n := len(d.in); n != maxFirstContacts-1 {
			t.Errorf("%d are in after one has left, want %d", n, maxFirstContacts-1)
		}
		time.Sleep(patience)
		synctest.Wait()
		if n := len(d.in); n != 0 {
			t.Errorf("%d are in after the time of all is over", n)
		}
		for _, f := range leave {
			f()
		}
		synctest.Wait()
		if n := len(d.in); n != 0 {
			t.Errorf("%d are in after all have left", n)
		}
	})
}
