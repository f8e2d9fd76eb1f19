package collector

import (
	"sync"
	"time"
)

const (
	// quietAfter is how long a small process must have needed no collection to be quiet.
	quietAfter = 10 * time.Second
	// quietPerGiB is how long a large one must have, for each GiB that is live. A collection takes a second of processor time for a GiB, so one
	// in that time costs some 5 percent of a processor.
	quietPerGiB = 20 * time.Second

	gib = 1 << 30
)

// rule is how one process collects its garbage.
type rule struct {
	share     Share
	memory    uint64        // bytes that the process may use; zero: unknown
	live      func() uint64 // bytes that were live after the last collection
	allocated func() uint64 // bytes that were allocated since the start
	now       func() time.Time
	set       func(percent int)
	giveBack  func() // collects, and returns free memory to the operating system
	later     func(time.Duration, func()) (stop func() bool)

	mu   sync.Mutex
	told int       // percent; zero: nothing yet
	last time.Time // when the last collection ended
	stop func() bool
	busy bool
	// looked is when it was looked last how much is allocated, and before how much that was.
	looked time.Time
	before uint64
}

// collected says that a collection has ended.
func (r *rule) collected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, live := r.now(), r.live()
	r.busy = r.share > Frugal && (r.busy || r.last.IsZero() || now.Sub(r.last) < quiet(live))
	r.last = now
	if !r.busy {
		r.tell(Frugal, live)
		return
	}
	r.tell(r.share, live)
	r.look(now, live)
}

// look looks again, when a quiet process would have needed no collection, whether this one is quiet.
func (r *rule) look(now time.Time, live uint64) {
	if r.stop != nil {
		r.stop()
	}
	r.looked, r.before = now, r.allocated()
	r.stop = r.later(quiet(live), r.rest)
}

// rest gives back what the process no longer needs, if it is quiet.
func (r *rule) rest() {
	if r.quieted() {
		r.giveBack()
	}
}

// quieted reports whether a busy process has become quiet: it has allocated little since it was looked last.
func (r *rule) quieted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, live := r.now(), r.live()
	switch {
	case !r.busy || now.Sub(r.looked) < quiet(live): // a collection came in between
		return false
	case r.allocated()-r.before >= Frugal.garbage(live):
		r.look(now, live)
		return false
	}
	r.busy, r.stop = false, nil
	r.tell(Frugal, live)
	return true
}

// tell tells Go by how many percent what is live may grow.
func (r *rule) tell(share Share, live uint64) {
	percent := share.percent(live, r.memory)
	if d := percent - r.told; -step < d && d < step {
		return
	}
	r.set(percent)
	r.told = percent
}

// quiet is how long a process with so much live must have needed no collection to be quiet.
func quiet(live uint64) time.Duration {
	return max(quietAfter, time.Duration(min(live, 1<<40)/(gib/1024))*(quietPerGiB/1024))
}

// percent returns by how many percent a live heap of so many bytes may grow before it is collected, in a process that may use so much memory; zero: nobody
// knows how much.
func (s Share) percent(live, memory uint64) int {
	switch {
	case live == 0: // not collected yet
		return most
	case live > 1<<40: // what small heaps are allowed no longer counts
		return int(s)
	}
	garbage := Frugal.garbage(live)
	if s > Frugal {
		more := s.garbage(live)
		if memory > 0 {
			more = min(more, max(memory/2, live)-live)
		}
		garbage = max(garbage, more)
	}
	return int(min(most, garbage*100/live))
}

// garbage is how many bytes of it may gather beside a live heap of so many, as far as memory allows.
func (s Share) garbage(live uint64) uint64 {
	if s <= Frugal {
		return max(least, live/3)
	}
	return least + (max(live, small)-small)*uint64(s)/100
}
