package system

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/farrier-dev/farrier/internal/controller/leadership"
	"github.com/farrier-dev/farrier/internal/controller/watchfilter"
)

// lingers is how long a term takes to end at most: what a Lease leaves for that, but a second for requests under way.
const lingers = 4 * time.Second

// sharer is a manager: its elections and its shards are those of the product, and what they let it do is written down.
type sharer struct {
	name     string
	shards   int
	link     *leaseLink
	election *election
	stop     func()
	ended    chan struct{}
}

// acts is a term that runs now. Its number is 0 in that of a leader that does not divide anything.
type acts struct {
	of     *sharer
	number int
}

func (a acts) String() string {
	return fmt.Sprintf("%s acts on %d of %d", a.of.name, a.number, a.of.shards)
}

// sharers are managers that share Leases, and what they do. It fails the test when two of them act on one BMC.
type sharers struct {
	t      *testing.T
	store  *leaseStore
	filter watchfilter.Filter // of their installation
	start  time.Time
	// divisions are the values of --shards that its managers have.
	divisions []int

	mu     sync.Mutex
	chance *rand.Rand
	now    map[acts]bool
	paused time.Time
	living []*sharer
	made   int
	past   []string // what has happened, the newest last
}

func newSharers(t *testing.T, store *leaseStore, filter string, seed uint64) *sharers {
	parsed, err := watchfilter.Parse(filter)
	if err != nil {
		t.Fatal(err)
	}
	return &sharers{
		t: t, store: store, filter: parsed, start: time.Now(), now: map[acts]bool{},
		chance: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // choices of a test
	}
}

// note writes down what happens. The caller holds mu.
func (s *sharers) note(format string, args ...any) {
	s.past = append(s.past, fmt.Sprintf("%9s ", time.Since(s.start).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// wrong fails the test, with the newest of what has happened. The caller holds mu.
func (s *sharers) wrong(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("after %s: %s", time.Since(s.start), fmt.Sprintf(format, args...))
	for _, line := range s.past[max(0, len(s.past)-40):] {
		s.t.Log(line)
	}
}

func (s *sharers) upTo(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chance.IntN(n)
}

// act is a term: it begins, goes on until ctx ends, and for a while.
func (s *sharers) act(ctx context.Context, a acts) {
	s.mu.Lock()
	if a.of.link.now() != dead && ctx.Err() == nil {
		s.note("begin: %s", a)
		for other := range s.now {
			if other.of.shards != a.of.shards || other.number == a.number {
				s.wrong("%s, and %s", a, other)
			}
		}
		if !s.paused.IsZero() && time.Since(s.paused) > leaseDuration {
			s.wrong("%s, and nobody may", a)
		}
		s.now[a] = true
	}
	linger := time.Duration(s.chance.Int64N(int64(lingers)))
	s.mu.Unlock()
	<-ctx.Done()
	time.Sleep(linger) // the clock is the test's
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now[a] {
		s.note("end: %s", a)
		delete(s.now, a)
	}
}

// begin starts a manager with --shards.
func (s *sharers) begin(shards int) *sharer {
	s.mu.Lock()
	s.made++
	m := &sharer{name: fmt.Sprintf("host_%d", s.made), shards: shards, ended: make(chan struct{})}
	m.link = &leaseLink{store: s.store, chance: rand.New(rand.NewPCG(s.chance.Uint64(), 2))} //nolint:gosec // choices of a test
	s.living = append(s.living, m)
	s.note("start: %s of %d", m.name, shards)
	s.mu.Unlock()

	system := &System{settings: &settings{Options: Options{Shards: shards, ManagerNamespace: "ns"}, filter: s.filter}, logger: logr.Discard(), failed: make(chan error, 1)}
	undivided := &undivided{leases: m.link, named: s.filter.Named, logger: logr.Discard()}
	m.election = &election{lock: system.newLock(m.link, m.name), lost: func() {}, term: func(ctx context.Context) error {
		if shards > 0 {
			<-ctx.Done()
		} else if undivided.await(ctx) == nil {
			s.act(ctx, acts{m, 0})
		}
		return nil
	}}
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	var turns sync.WaitGroup
	turns.Go(func() {
		if err := m.election.run(ctx); err != nil && ctx.Err() == nil {
			s.t.Errorf("%s: %v", m.name, err)
		}
	})
	if shards > 0 {
		sharding := system.newSharding(m.link, m.name)
		sharding.term = func(ctx context.Context, i int) error {
			s.act(ctx, acts{m, i})
			return nil
		}
		sharding.fail = func(err error) { s.t.Errorf("%s: %v", m.name, err) }
		turns.Go(func() { sharding.run(ctx) })
	}
	go func() {
		defer close(m.ended)
		turns.Wait()
		s.mu.Lock()
		for a := range s.now {
			if a.of == m {
				s.wrong("%s, and its manager has ended", a)
			}
		}
		s.mu.Unlock()
		_ = m.election.release() // fails while the API is away
	}()
	return m
}

// leave ends a manager in order.
func (s *sharers) leave(m *sharer) {
	s.mu.Lock()
	s.living = slices.DeleteFunc(s.living, func(other *sharer) bool { return other == m })
	s.note("stop: %s", m.name)
	s.mu.Unlock()
	m.stop()
}

// kill ends a manager at once. It returns what it did.
func (s *sharers) kill(m *sharer) (did []int) {
	m.link.set(dead)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.living = slices.DeleteFunc(s.living, func(other *sharer) bool { return other == m })
	for a := range s.now {
		if a.of == m {
			did = append(did, a.number)
			delete(s.now, a)
		}
	}
	s.note("kill: %s, with %v", m.name, did)
	m.stop()
	return did
}

// trouble makes the API of managers difficult for a while.
func (s *sharers) trouble(state trouble, d time.Duration, managers ...*sharer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range managers {
		s.note("trouble %d for %s: %s", state, d, m.name)
		m.link.set(state)
		go func() {
			time.Sleep(d) // the clock is the test's
			m.link.set(none)
		}()
	}
}

// pause takes the leader's Lease, as a move does, for a while.
func (s *sharers) pause(d time.Duration) {
	s.takeLease(leadership.Pause, math.MaxInt32)
	s.mu.Lock()
	s.note("pause for %s", d)
	s.paused = time.Now()
	s.mu.Unlock()
	time.Sleep(leaseDuration) // the clock is the test's
	s.mu.Lock()
	for a := range s.now {
		s.wrong("%s, %s after a pause has begun", a, leaseDuration)
	}
	s.mu.Unlock()
	time.Sleep(d)
	s.mu.Lock()
	s.paused = time.Time{}
	s.note("the pause is over")
	s.mu.Unlock()
	s.takeLease("", 1)
}

// takeLease has the leader's Lease be somebody's.
func (s *sharers) takeLease(holder string, seconds int32) {
	for {
		lease, err := s.store.get(s.filter.Named(leadership.Lease))
		if err != nil {
			return // nobody has ever led
		}
		now := metav1.NowMicro()
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &holder, &seconds
		lease.Spec.AcquireTime, lease.Spec.RenewTime = &now, &now
		if _, err := s.store.put(lease, false); err == nil {
			return
		}
	}
}

// leader is who leads, if he lives; nil: nobody.
func (s *sharers) leader() *sharer {
	lease, err := s.store.get(s.filter.Named(leadership.Lease))
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.living {
		if m.name == ptr.Deref(lease.Spec.HolderIdentity, "") {
			return m
		}
	}
	return nil
}
