package fleet

import (
	"math"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// schedulingLatencies is a histogram of how long goroutines that could run waited for a processor.
	schedulingLatencies = "/sched/latencies:seconds"
	// longWait is a wait that says that there is more to do than there are processors, and not that two goroutines met.
	longWait = 10 * time.Millisecond
	// busyShare is how many of the waits are long in a process that is busy: one in so many.
	busyShare = 20
	// busyInterval is how long an answer is good for.
	busyInterval = 250 * time.Millisecond
)

// pressure reports whether this process has more to do than its processors can. The runtime measures that.
type pressure struct {
	clock clock.PassiveClock

	mu         sync.Mutex
	at         time.Time
	long, all  uint64 // when it was looked at last
	busyBefore bool
}

func newPressure(c clock.PassiveClock) *pressure {
	p := &pressure{clock: c, at: c.Now()}
	p.long, p.all = waits()
	return p
}

func (p *pressure) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if now.Sub(p.at) < busyInterval {
		return p.busyBefore
	}
	long, all := waits()
	p.busyBefore = (long-p.long)*busyShare > all-p.all
	p.at, p.long, p.all = now, long, all
	return p.busyBefore
}

// waits counts all waits of goroutines for a processor since the start, and those among them that were long.
func waits() (long, all uint64) {
	sample := []runtimemetrics.Sample{{Name: schedulingLatencies}}
	runtimemetrics.Read(sample)
	if sample[0].Value.Kind() != runtimemetrics.KindFloat64Histogram {
		return 0, 0
	}
	h := sample[0].Value.Float64Histogram()
	for i, n := range h.Counts {
		all += n
		if from := h.Buckets[i]; !math.IsInf(from, -1) && from >= longWait.Seconds() {
			long += n
		}
	}
	return long, all
}
