package manager

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// minGarbage is how much garbage may accumulate before a collection, even if that is more than gcPercent of the live heap. On
	// a small heap, frequent collections cost a fifth of the processor time and save no memory that matters. At the peak of ten
	// thousand BMCs gcPercent decides.
	minGarbage = 128 << 20
	// maxPercent limits the percentage for a very small heap.
	maxPercent = 400
	// tuneInterval is how often the size of the live heap is read, and tuneThreshold the change, in percentage points, from which
	// a new value is set: setting one stops all goroutines for a moment.
	tuneInterval  = time.Second
	tuneThreshold = 10

	liveMetric = "/gc/heap/live:bytes"
)

// percentFor returns by how many percent a live heap of that size may grow before a collection.
func percentFor(live uint64) int {
	if live == 0 {
		return maxPercent
	}
	return int(max(gcPercent, min(maxPercent, minGarbage*100/live)))
}

// tuneCollector adjusts the garbage collector as the heap grows and shrinks, until ctx ends.
func tuneCollector(ctx context.Context, tick <-chan time.Time, live func() uint64, set func(percent int) int) {
	current := gcPercent
	for {
		if percent := percentFor(live()); percent != current && (percent == gcPercent || percent > current+tuneThreshold || percent < current-tuneThreshold) {
			set(percent)
			current = percent
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// watchHeap is tuneCollector for this process.
func watchHeap(ctx context.Context) {
	ticker := time.NewTicker(tuneInterval)
	defer ticker.Stop()
	tuneCollector(ctx, ticker.C, liveHeap, debug.SetGCPercent)
}

// liveHeap returns the number of bytes that were live after the last collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: liveMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 1 << 62 // unknown to this runtime: gcPercent decides
	}
	return sample[0].Value.Uint64()
}
