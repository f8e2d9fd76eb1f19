package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// minFirstContacts is how many BMCs are contacted for the first time at once, at least. A first contact takes many requests and
	// decodes everything for the first time: without a limit, the use of memory would peak at the start, and the peak would
	// grow with the fleet.
	minFirstContacts = 256
	// maxFirstContacts is how many at once at most, where BMCs are slow and this process has time. A contact costs some 40 KiB, most of
	// it the two ends of TLS.
	maxFirstContacts = 1024
	// patience is how long a first contact counts against the limit. One that takes longer, because its BMC is slow or hangs,
	// goes on while the next is admitted. So BMCs that do not answer delay others only briefly, and at most
	// limit * request timeout / patience connections wait for BMCs that never answer.
	patience = 2 * time.Second
)

// firstContactLimiter limits how many actors contact their BMC for the first time at once. The limit follows from what came of
// earlier contacts:
//
//   - one that succeeded and took longer than patience was slow. If this process had time all the while, the BMC was, and waiting
//     for more of them at once costs little: the limit grows by one;
//   - if this process is busy, more at once would only make all of them slower: the limit halves the way to its minimum, and does so
//     at most once in patience;
//   - one that failed says nothing. BMCs that hang do not raise the limit, or most connections would wait for them.
type firstContactLimiter struct {
	clock clock.Clock
	busy  func() bool // reports whether this process has more to do than it can

	mu      sync.Mutex
	limit   int
	in      int             // how many count against the limit
	waiting []chan struct{} // in the order of arrival; closing one admits it
	lowered time.Time
}

func newFirstContactLimiter(c clock.Clock, busy func() bool) *firstContactLimiter {
	return &firstContactLimiter{clock: c, busy: busy, limit: minFirstContacts}
}

// enter waits until the limit admits the caller, or ctx ends. The caller calls leave after the contact, and says whether the BMC was
// met; after patience the contact no longer counts against the limit anyway.
func (d *firstContactLimiter) enter(ctx context.Context) (leave func(met bool)) {
	if !d.admitted(ctx) {
		return func(bool) {}
	}
	began := d.clock.Now()
	over := make(chan struct{})
	timer := d.clock.NewTimer(patience)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-over:
		}
		d.release()
	}()
	var once sync.Once
	return func(met bool) {
		once.Do(func() {
			if met {
				d.adapt(d.clock.Since(began))
			}
			close(over)
		})
	}
}

// admitted reports whether the limit admitted the caller before ctx ended.
func (d *firstContactLimiter) admitted(ctx context.Context) bool {
	d.mu.Lock()
	if d.in < d.limit && len(d.waiting) == 0 {
		d.in++
		d.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	d.waiting = append(d.waiting, turn)
	d.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, w := range d.waiting {
		if w == turn {
			d.waiting = append(d.waiting[:i], d.waiting[i+1:]...)
			return false
		}
	}
	d.in-- // it was admitted at the same time
	d.admitLocked()
	return false
}

// release ends what counts against the limit of one contact.
func (d *firstContactLimiter) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.in--
	d.admitLocked()
}

// admitLocked admits those who have waited longest, as many as there is room for.
func (d *firstContactLimiter) admitLocked() {
	for d.in < d.limit && len(d.waiting) > 0 {
		close(d.waiting[0])
		d.waiting[0] = nil
		d.waiting = d.waiting[1:]
		d.in++
	}
}

// adapt concludes from a contact that succeeded how many there may be at once.
func (d *firstContactLimiter) adapt(took time.Duration) {
	slow, busy := took > patience, d.busy()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	switch {
	case busy && now.Sub(d.lowered) >= patience:
		d.limit, d.lowered = (d.limit+minFirstContacts)/2, now
	case slow && !busy && d.limit < maxFirstContacts:
		d.limit++
		d.admitLocked()
	}
}
