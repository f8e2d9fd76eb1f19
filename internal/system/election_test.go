package system

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is a Lease in memory, which may be away.
type lease struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
	away   bool
	// late is carried out before the next write that gives the lease back.
	late func(*resourcelock.LeaderElectionRecord)
}

func (l *lease) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *lease) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record == nil {
		return ""
	}
	return l.record.HolderIdentity
}

// candidate is one process's access to a lease.
type candidate struct {
	*lease
	name string
}

func (c candidate) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, nil, apierrors.NewServiceUnavailable("away")
	}
	if c.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "l")
	}
	record := *c.record
	raw, err := json.Marshal(record)
	return &record, raw, err
}

func (c candidate) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return c.Update(ctx, record)
}

func (c candidate) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return apierrors.NewServiceUnavailable("away")
	}
	if c.record != nil && c.record.HolderIdentity != "" && c.record.HolderIdentity != c.name && time.Since(c.record.RenewTime.Time) < leaseDuration {
		return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "l", errors.New("held"))
	}
	if late := c.late; late != nil && record.HolderIdentity == "" {
		c.late = nil
		late(c.record)
		return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "l", errors.New("modified"))
	}
	c.record = &record
	return nil
}

func (c candidate) RecordEvent(string) {}
func (c candidate) Identity() string   { return c.name }
func (c candidate) Describe() string   { return "ns/l" }

// acting is an election whose terms are counted.
type acting struct {
	election
	stop    func()
	ended   chan error
	mu      sync.Mutex
	terms   int
	now     bool
	lingers time.Duration // how long a term takes to end
}

func (a *acting) is() (terms int, now bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.terms, a.now
}

func candidateFor(l *lease, name string) *acting {
	a := &acting{ended: make(chan error, 1)}
	a.election = election{lock: candidate{l, name}, lost: func() {}, term: func(ctx context.Context) error {
		a.mu.Lock()
		a.terms, a.now = a.terms+1, true
		a.mu.Unlock()
		<-ctx.Done()
		time.Sleep(a.lingers) // the clock is the test's
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now = false
		return nil
	}}
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	go func() { a.ended <- a.run(ctx) }()
	return a
}

// leave ends a candidate in order.
func (a *acting) leave(t *testing.T) {
	t.Helper()
	a.stop()
	if err := <-a.ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := a.release(); err != nil {
		t.Error(err)
	}
}

// atMost is longer than any pause of a candidate between two looks at a lease, which client-go draws at random: the period and
// leaderelection.JitterFactor of it more.
const atMost = 3 * retryPeriod

func after(d time.Duration) {
	time.Sleep(d) // the clock is the test's
	synctest.Wait()
}

// TestTermsFollowEachOther: an outage ends a term, in time for somebody else to take over; after it the process that had the lease acts again at
// once, although the lease of its own has not expired.
func TestTermsFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		a := candidateFor(l, "a")
		after(time.Second)
		for n := 1; n <= 3; n++ {
			if terms, now := a.is(); terms != n || !now {
				t.Fatalf("term %d, acts: %t; want term %d", terms, now, n)
			}
			l.set(func() { l.away = true })
			after(renewDeadline + retryPeriod)
			if _, now := a.is(); now {
				t.Fatalf("still acts %s after the API went away", renewDeadline+retryPeriod)
			}
			l.set(func() { l.away = false })
			after(atMost)
		}
		a.leave(t)
	})
}

// TestAShortOutageEndsNoTerm: what is over before the lease is lost changes nothing.
func TestAShortOutageEndsNoTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		a := candidateFor(l, "a")
		after(time.Second)
		l.set(func() { l.away = true })
		after(renewDeadline - 2*retryPeriod)
		l.set(func() { l.away = false })
		after(time.Minute)
		if terms, now := a.is(); terms != 1 || !now {
			t.Errorf("term %d, acts: %t", terms, now)
		}
		a.leave(t)
	})
}

// TestReleasedAfterTheEnd: on the way out the lease is held and renewed until what acts has ended, however long that takes, and the next process acts
// seconds later.
func TestReleasedAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		a := candidateFor(l, "a")
		a.lingers = time.Minute
		after(time.Second)
		b := candidateFor(l, "b")
		after(time.Minute)
		a.stop()
		after(time.Minute - time.Second)
		if terms, _ := b.is(); terms != 0 || l.holder() != "a" {
			t.Errorf("%d terms of the next, the lease is %q's, and the first has not ended", terms, l.holder())
		}
		after(time.Second)
		if l.holder() != "a" {
			t.Errorf("the lease is %q's before it was released", l.holder())
		}
		a.leave(t)
		if l.holder() != "" {
			t.Errorf("the lease is %q's after it was released", l.holder())
		}
		after(atMost)
		if _, now := b.is(); !now {
			t.Errorf("the next does not act %s after the lease was released", atMost)
		}
		b.leave(t)
	})
}

// TestReleasedBehindALateRenewal: the last renewal was given up, and the API carries it out all the same when the lease is being released.
func TestReleasedBehindALateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		a := candidateFor(l, "a")
		after(time.Second)
		l.set(func() {
			l.late = func(r *resourcelock.LeaderElectionRecord) { r.RenewTime.Time = time.Now() }
		})
		a.leave(t)
		if l.holder() != "" {
			t.Errorf("the lease is %q's after it was released", l.holder())
		}
		// A lease that somebody else has taken meanwhile stays theirs.
		b := candidateFor(l, "b")
		after(atMost)
		l.set(func() {
			l.late = func(r *resourcelock.LeaderElectionRecord) { r.HolderIdentity = "c" }
		})
		b.leave(t)
		if l.holder() != "c" {
			t.Errorf("the lease is %q's, and somebody else took it", l.holder())
		}
	})
}

// TestAnotherTakesOver: while one has the lease the other does not act, after it has expired it does, and the first, back again, waits for it.
func TestAnotherTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		a := candidateFor(l, "a")
		after(time.Second)
		b := candidateFor(l, "b")
		// a is cut off, and b is not.
		cut := &lease{away: true}
		a.stop()
		<-a.ended
		a.withdraw()
		a.lock = candidate{cut, "a"}
		if err := a.release(); err == nil {
			t.Error("the lease was released without an API")
		}
		if l.holder() != "a" {
			t.Errorf("the lease is %q's", l.holder())
		}
		after(leaseDuration + atMost)
		if terms, now := b.is(); terms != 1 || !now {
			t.Errorf("the other: term %d, acts: %t", terms, now)
		}
		again := candidateFor(l, "a")
		after(time.Minute)
		if terms, _ := again.is(); terms != 0 {
			t.Errorf("two act at a time")
		}
		again.leave(t)
		if l.holder() != "b" {
			t.Errorf("who had no lease has released it: it is %q's", l.holder())
		}
		b.leave(t)
	})
}

// TestAFailedTermEndsTheElection: its error is told, and the lease is kept until it is released.
func TestAFailedTermEndsTheElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		l := &lease{}
		e := &election{lock: candidate{l, "a"}, lost: func() {}, term: func(context.Context) error { return broken }}
		if err := e.run(t.Context()); !errors.Is(err, broken) {
			t.Errorf("ended with %v", err)
		}
		if l.holder() != "a" {
			t.Errorf("the lease is %q's", l.holder())
		}
		if err := e.release(); err != nil || l.holder() != "" {
			t.Errorf("released: %v, the lease is %q's", err, l.holder())
		}
	})
}

// slowly is a candidate whose writes are answered late.
type slowly struct {
	candidate
	answer time.Duration
}

func (c slowly) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := c.candidate.Update(ctx, record)
	time.Sleep(c.answer) // the clock is the test's
	return err
}

// TestATermEndsInTimeBesideASlowAPI: others count from when a renewal was carried out, so the holder counts from when it was sent.
func TestATermEndsInTimeBesideASlowAPI(t *testing.T) {
	for passes := range 10 {
		synctest.Test(t, func(t *testing.T) {
			l := &lease{}
			var acts atomic.Bool
			e := &election{lock: slowly{candidate{l, "a"}, renewDeadline / 4}, lost: func() {}, term: func(ctx context.Context) error {
				acts.Store(true)
				<-ctx.Done()
				acts.Store(false)
				return nil
			}}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.run(ctx) }()
			after(time.Minute + time.Duration(passes)*time.Second)
			if !acts.Load() {
				t.Error("a slow API has ended the term")
			}
			var renewed time.Time
			l.set(func() { l.away, renewed = true, l.record.RenewTime.Time })
			after(time.Until(renewed.Add(renewDeadline)) + time.Millisecond)
			if acts.Load() {
				t.Errorf("acts %s after its last renewal", time.Since(renewed))
			}
			stop()
			<-ended
			e.withdraw()
		})
	}
}
