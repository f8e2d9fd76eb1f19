package brake

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// PerMinute is how many writes, and how many requests to its BMC, an object may cost a minute in the long run that comes no further.
	PerMinute = 10
	// writesLeak and requestsLeak are how many a minute are forgotten. A word of the reporter is a write too; and an order is let go as a whole,
	// which is some five requests, and its BMC is polled besides.
	writesLeak, requestsLeak = PerMinute - 2, PerMinute / 2
	// Burst is how many before that. A server that is found, inspected and booted costs 8 writes, and its boot some 20 requests: one that is
	// switched back and forth by people must not be slowed for that either.
	Burst = 60
	// watchFrom is when the states of an object are looked at: most objects never cost as much.
	watchFrom = Burst / 2
	// lately is how long a state is remembered, and maxStages how many are.
	lately    = 10 * time.Minute
	maxStages = 64
	// drained is when an account is as good as a new one, its stages included.
	drained = Burst * time.Minute / requestsLeak
	// manyAccounts is how many are kept before any is looked at for whether it is needed.
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

// Brake has the accounts of all objects. It is safe for concurrent use.
type Brake struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	accounts map[subject]*account
	sweepAt  int
	// stalled are the objects whose accounts were overdrawn, or that say so.
	stalled map[subject]*stall
	refused [kinds]map[string]int // by kind of object
	news    chan struct{}
}

// New makes a brake without accounts.
func New(c clock.PassiveClock) *Brake {
	return &Brake{
		clock: c, accounts: map[subject]*account{}, sweepAt: manyAccounts, stalled: map[subject]*stall{},
		refused: [kinds]map[string]int{{}, {}}, news: make(chan struct{}, 1),
	}
}

// account is what one object has cost since it came further.
type account struct {
	spent [kinds]bucket
	// stages is nil until the object is watched.
	stages []seen
	last   time.Time
}

// seen is a state that the object was in.
type seen struct {
	stage uint64
	at    time.Time
}

// leaks is how many are forgotten a minute.
func (w what) leaks() float64 {
	if w == requests {
		return requestsLeak
	}
	return writesLeak
}

// bucket leaks.
type bucket struct {
	used float64
	at   time.Time
}

func (b *bucket) leak(now time.Time, perMinute float64) {
	b.used = max(0, b.used-now.Sub(b.at).Minutes()*perMinute)
	b.at = now
}

// wait is how long it takes until one more fits.
func (a *account) wait(w what) time.Duration {
	over := a.spent[w].used + 1 - Burst
	if over <= 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(over/w.leaks()*float64(time.Minute)))
}

// of is the account of an object. b.mu is held.
func (b *Brake) of(s subject, now time.Time) *account {
	a := b.accounts[s]
	if a == nil {
		b.sweep(now)
		a = &account{}
		b.accounts[s] = a
	}
	for i := range a.spent {
		a.spent[i].leak(now, what(i).leaks())
	}
	a.last = now
	return a
}

// sweep drops accounts that are as good as new ones, when there are twice as many as were needed last.
func (b *Brake) sweep(now time.Time) {
	if len(b.accounts) < b.sweepAt {
		return
	}
	for s, a := range b.accounts {
		if now.Sub(a.last) > drained {
			delete(b.accounts, s)
		}
	}
	b.sweepAt = max(manyAccounts, 2*len(b.accounts))
}

// watched reports whether the states of the object are looked at.
func (a *account) watched() bool {
	return a.stages != nil || a.spent[writes].used >= watchFrom || a.spent[requests].used >= watchFrom
}

// enter notes the state that an object is about to be in, and reports whether it was not in that lately.
func (a *account) enter(stage uint64, now time.Time) (progress bool) {
	for i := range a.stages {
		if a.stages[i].stage == stage {
			progress = now.Sub(a.stages[i].at) > lately
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

// write counts a write that leads to a stage, which is asked for where it matters. A write one too many is not counted: it is not
// to be made, and the answer is how long to wait.
func (b *Brake) write(s subject, stage func() uint64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	a := b.of(s, now)
	if a.watched() && a.enter(stage(), now) {
		a.spent[writes].used, a.spent[requests].used = 0, 0
	}
	if wait := a.wait(writes); wait > 0 {
		b.refuse(s, writes, now)
		return wait
	}
	a.spent[writes].used++
	return 0
}
