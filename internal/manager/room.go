package manager

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcRoom is how much garbage there may be before it is collected, even if that is more than gcPercent of what is live:
	// with little that is live, collecting often costs a fifth of the processor time and saves nothing that matters. What ten
	// thousand BMCs need at their peak is decided by gcPercent.
	gcRoom = 128 << 20
	// gcPercentMost bounds what is made of that when next to nothing is live.
	gcPercentMost = 400
	// roomInterval is how often it is looked at how much is live, and roomChange what difference, in percentage points, is worth
	// telling the garbage collector, which stops everything for a moment.
	roomInterval = time.Second
	roomChange   = 10

	liveMetric = "/gc/heap/live:bytes"
)

// roomPercent is how much the heap may grow over what is live, in percent of it.
func roomPercent(live uint64) int {
	if live == 0 {
		return gcPercentMost
	}
	return int(max(gcPercent, min(gcPercentMost, gcRoom*100/live)))
}

// keepRoom tells the garbage collector how much room it has, as the heap grows and shrinks, until ctx ends.
func keepRoom(ctx context.Context, tick <-chan time.Time, live func() uint64, set func(percent int) int) {
	told := gcPercent
	for {
		if percent := roomPercent(live()); percent != told && (percent == gcPercent || percent > told+roomChange || percent < told-roomChange) {
			set(percent)
			told = percent
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// watchRoom is keepRoom of this process.
func watchRoom(ctx context.Context) {
	ticker := time.NewTicker(roomInterval)
	defer ticker.Stop()
	keepRoom(ctx, ticker.C, liveHeap, debug.SetGCPercent)
}

// liveHeap is what was live after the last collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: liveMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 1 << 62 // a runtime that does not tell: no more room than gcPercent gives
	}
	return sample[0].Value.Uint64()
}
