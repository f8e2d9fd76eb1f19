package throttle

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// PerMinute is how many writes, and how many requests to its BMC, an object without progress may cost a minute in the long run.
	PerMinute = 10
	// writesLeak and requestsLeak are how many leave the bucket a minute. They are lower than PerMinute because the reporter writes too,
	// because a command begins as a whole, which is some five requests, and because its BMC is polled besides.
	writesLeak, requestsLeak = PerMinute - 2, PerMinute / 2
	// Burst is how many are free. A server that is discovered, inspected and booted costs 8 writes, and its boot some 20 requests; a
	// server that people switch on and off repeatedly must not be throttled either.
	Burst = 60
	// watchFrom is the cost from which on the states of an object are recorded. Most objects never cost as much.
	watchFrom = Burst / 2
	// recently is how long a state is remembered, and maxStages how many are.
	recently  = 10 * time.Minute
	maxStages = 64
	// drained is the idle time after which an account equals a new one, its stages included.
	drained = Burst * time.Minute / requestsLeak
	// manyAccounts is how many are kept before the first sweep.
	manyAccounts = 1024
)

// subject is an object that has an account.
type subject struct {
	schema.GroupVersionKind
	client.ObjectKey
}

// String is namespace/name, or the name alone of what is in no namespace.
func (s subject) String() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// what is counted.
type what int

const (
	writes what = iota
	requests
	kinds
)

// Throttle has the accounts of all objects. It is safe for concurrent use.
type Throttle struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	accounts map[subject]*account
	sweepAt  int
	// stalled are the objects whose accounts are overdrawn, or whose condition says so.
	stalled map[subject]*stall
	refused [kinds]map[string]int // by kind of object
	// changed holds a token while stalled has an object that the reporter has not seen.
	changed chan struct{}
}

// New returns a throttle without accounts.
func New(c clock.PassiveClock) *Throttle {
	return &Throttle{
		clock: c, accounts: map[subject]*account{}, sweepAt: manyAccounts, stalled: map[subject]*stall{},
		refused: [kinds]map[string]int{{}, {}}, changed: make(chan struct{}, 1),
	}
}

// account is what one object has cost since its last progress.
type account struct {
	spent [kinds]bucket
	// stages is nil until the object is watched.
	stages []seen
	last   time.Time
}

// seen is a state that the object was in, and when.
type seen struct {
	stage uint64
	at    time.Time
}

// leaks returns how many leave the bucket a minute.
func (w what) leaks() float64 {
	if w == requests {
		return requestsLeak
	}
	return writesLeak
}

// bucket is a leaky bucket.
type bucket struct {
	used float64
	at   time.Time
}

func (b *bucket) leak(now time.Time, perMinute float64) {
	b.used = max(0, b.used-now.Sub(b.at).Minutes()*perMinute)
	b.at = now
}

// wait returns how long it takes until one more fits.
func (a *account) wait(w what) time.Duration {
	over := a.spent[w].used + 1 - Burst
	if over <= 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(over/w.leaks()*float64(time.Minute)))
}

// of returns the account of an object. The caller has locked t.mu.
func (t *Throttle) of(s subject, now time.Time) *account {
	a := t.accounts[s]
	if a == nil {
		t.sweep(now)
		a = &account{}
		t.accounts[s] = a
	}
	for i := range a.spent {
		a.spent[i].leak(now, what(i).leaks())
	}
	a.last = now
	return a
}

// sweep drops drained accounts, once there are twice as many as the last sweep left.
func (t *Throttle) sweep(now time.Time) {
	if len(t.accounts) < t.sweepAt {
		return
	}
	for s, a := range t.accounts {
		if now.Sub(a.last) > drained {
			delete(t.accounts, s)
		}
	}
	t.sweepAt = max(manyAccounts, 2*len(t.accounts))
}

// watched reports whether the states of the object are recorded.
func (a *account) watched() bool {
	return a.stages != nil || a.spent[writes].used >= watchFrom || a.spent[requests].used >= watchFrom
}

// enter records the state that an object is about to be in, and reports whether it was not in that state recently.
func (a *account) enter(stage uint64, now time.Time) (progress bool) {
	for i := range a.stages {
		if a.stages[i].stage == stage {
			progress = now.Sub(a.stages[i].at) > recently
			a.stages[i].at = now
			return progress
		}
	}
	if len(a.stages) < maxStages {
		a.stages = append(a.stages, seen{stage, now})
		return true
	}
	oldest := 0
	for i := range a.stages {
		if a.stages[i].at.Before(a.stages[oldest].at) {
			oldest = i
		}
	}
	a.stages[oldest] = seen{stage, now}
	return true
}

// write counts a write that leads to a stage; it calls stage only for a watched object. It does not count a write above the limit,
// which the caller must not make: it returns how long to wait.
func (t *Throttle) write(s subject, stage func() uint64) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	a := t.of(s, now)
	if a.watched() && a.enter(stage(), now) {
		a.spent[writes].used, a.spent[requests].used = 0, 0
	}
	if wait := a.wait(writes); wait > 0 {
		t.refuse(s, writes, now)
		return wait
	}
	a.spent[writes].used++
	return 0
}
