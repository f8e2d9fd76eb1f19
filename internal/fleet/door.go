package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// maxFirstLooks is how many BMCs are met at a time. A first look is dozens of requests, with everything decoded
	// for the first time: without a limit, memory would have its peak at the start and the peak would grow with
	// the fleet.
	maxFirstLooks = 256
	// patience is how long one of them keeps others waiting. One that takes longer, because its BMC is slow or hangs,
	// goes on, and the next is let in: what does not answer holds nobody back for long, and at most
	// maxFirstLooks * request timeout / patience connections wait for BMCs that never answer.
	patience = 2 * time.Second
)

// door lets so many actors in at a time.
type door struct {
	clock clock.Clock
	in    chan struct{} // one token for each
}

func newDoor(c clock.Clock) *door {
	return &door{clock: c, in: make(chan struct{}, maxFirstLooks)}
}

// enter waits for its turn, or for the end of ctx. leave is called when the look is over; after patience the
// turn is over anyway.
func (d *door) enter(ctx context.Context) (leave func()) {
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
