package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// maxFirstContacts is how many BMCs are contacted for the first time at once. A first contact takes dozens of requests and
	// decodes everything for the first time: without a limit, the use of memory would peak at the start, and the peak would
	// grow with the fleet.
	maxFirstContacts = 256
	// patience is how long a first contact counts against the limit. One that takes longer, because its BMC is slow or hangs,
	// goes on while the next is admitted. So BMCs that do not answer delay others only briefly, and at most
	// maxFirstContacts * request timeout / patience connections wait for BMCs that never answer.
	patience = 2 * time.Second
)

// firstContactLimiter limits how many actors contact their BMC for the first time at once.
type firstContactLimiter struct {
	clock clock.Clock
	in    chan struct{} // one token for each
}

func newFirstContactLimiter(c clock.Clock) *firstContactLimiter {
	return &firstContactLimiter{clock: c, in: make(chan struct{}, maxFirstContacts)}
}

// enter waits until the limit admits the caller, or ctx ends. The caller calls leave after the contact; after patience it
// no longer counts against the limit anyway.
func (d *firstContactLimiter) enter(ctx context.Context) (leave func()) {
	select {
	case d.in <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	over := make(chan struct{})
	timer := d.clock.NewTimer(patience)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-over:
		}
		<-d.in
	}()
	return sync.OnceFunc(func() { close(over) })
}
