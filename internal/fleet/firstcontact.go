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

	gate
	lowered time.Time // guarded by gate.mu
}

func newFirstContactLimiter(c clock.Clock, busy func() bool) *firstContactLimiter {
	return &firstContactLimiter{clock: c, busy: busy, gate: gate{limit: minFirstContacts}}
}

// enter waits until the limit admits the caller, or ctx ends. The caller calls leave after the contact, and says whether the BMC was
// met; after patience the contact no longer counts against the limit anyway.
func (d *firstContactLimiter) enter(ctx context.Context) (leave func(met bool)) {
	p := d.join()
	select {
	case <-p.admitted:
	case <-ctx.Done():
		d.leave(p)
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
		d.leave(p)
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

// adapt concludes from a contact that succeeded how many there may be at once.
func (d *firstContactLimiter) adapt(took time.Duration) {
	slow, busy := took > patience, d.busy()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	switch {
	case busy && now.Sub(d.lowered) >= patience:
		d.lowered = now
		d.resizeLocked((d.limit + minFirstContacts) / 2)
	case slow && !busy && d.limit < maxFirstContacts:
		d.resizeLocked(d.limit + 1)
	}
}
