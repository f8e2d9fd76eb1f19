package collector

import (
	"sync"
	"time"
)

// rule is how one process collects its garbage.
type rule struct {
	share    Share
	live     func() uint64 // bytes that were live after the last collection
	now      func() time.Time
	set      func(percent int)
	giveBack func() // collects, and returns free memory to the operating system
	later    func(time.Duration, func()) (stop func() bool)

	mu   sync.Mutex
	told int       // percent; zero: nothing yet
	last time.Time // when the last collection ended
	stop func() bool
}

// collected says that a collection has ended.
func (r *rule) collected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := r.last.IsZero() || r.now().Sub(r.last) < quietAfter
	r.last = r.now()
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
	if !busy || r.share <= Frugal {
		r.tell(Frugal)
		return
	}
	r.tell(r.share)
	r.stop = r.later(quietAfter, r.rest)
}

// rest gives back what the process no longer needs: nothing was collected for a while.
func (r *rule) rest() {
	r.mu.Lock()
	due := r.now().Sub(r.last) >= quietAfter
	if due {
		r.tell(Frugal)
	}
	r.mu.Unlock()
	if due {
		r.giveBack()
	}
}

// tell tells Go by how many percent what is live may grow.
func (r *rule) tell(share Share) {
	percent := share.percent(r.live())
	if d := percent - r.told; -step < d && d < step {
		return
	}
	r.set(percent)
	r.told = percent
}

// percent returns by how many percent a live heap of so many bytes may grow before it is collected.
func (s Share) percent(live uint64) int {
	switch {
	case live == 0: // not collected yet
		return most
	case live > 1<<40: // what small heaps are allowed no longer counts
		return int(s)
	}
	garbage := max(least, live*uint64(Frugal)/100)
	if s > Frugal && live > small {
		garbage = max(garbage, least+(live-small)*uint64(s)/100)
	}
	return int(min(most, garbage*100/live))
}
