package system

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/leadership"
)

// shardsOf makes what holds shards for manager "host_me", which is told that it is to divide BMCs by its number.
func shardsOf(shards int) (*sharding, *leaseStore, *leaseLink) {
	store := &leaseStore{}
	link := &leaseLink{store: store, chance: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // latencies of a test
	s := &System{settings: &settings{Options: Options{Shards: shards, ManagerNamespace: "ns"}}, logger: logr.Discard()}
	h := s.newSharding(link, "host_me")
	h.known = func() (division, time.Time) { return division{shards: shards}, time.Now() }
	return h, store, link
}

// set makes a Lease, or writes it again.
func (s *leaseStore) set(t *testing.T, name, holder string, labels, annotations map[string]string) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
	old, err := s.get(name)
	if err == nil {
		lease.ObjectMeta = old.ObjectMeta
	}
	lease.Labels, lease.Annotations, lease.Spec.HolderIdentity = labels, annotations, &holder
	if _, err := s.put(lease, err != nil); err != nil {
		t.Fatal(err)
	}
}

// leads has somebody lead, who divides BMCs into so many shards.
func (s *leaseStore) leads(t *testing.T, holder string, shards int) {
	t.Helper()
	s.set(t, leadership.Lease, holder, nil, map[string]string{metalv1.AnnotationShards: textOfDivision(shards, holder)})
}

// TestATermBeginsWhenTheLeaderStillSaysSo: the API is asked after the Lease was got, whatever this process has heard before, and no shard of another
// division may be held.
func TestATermBeginsWhenTheLeaderStillSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*testing.T, *leaseStore, *leaseLink)
		begins  bool
	}{
		"it says so": {func(*testing.T, *leaseStore, *leaseLink) {}, true},
		"nobody leads, and the last one did": {func(t *testing.T, s *leaseStore, _ *leaseLink) {
			s.set(t, leadership.Lease, "", nil, map[string]string{metalv1.AnnotationShards: textOfDivision(5, "a")})
		}, true},
		"another number":  {func(t *testing.T, s *leaseStore, _ *leaseLink) { s.leads(t, "a", 4) }, false},
		"it has them all": {func(t *testing.T, s *leaseStore, _ *leaseLink) { s.set(t, leadership.Lease, "a", nil, nil) }, false},
		"a pause":         {func(t *testing.T, s *leaseStore, _ *leaseLink) { s.leads(t, leadership.Pause, 5) }, false},
		"nobody ever led": {func(_ *testing.T, s *leaseStore, _ *leaseLink) { s.by = nil }, false},
		"no API":          {func(_ *testing.T, _ *leaseStore, l *leaseLink) { l.set(refuses) }, false},
		"no list":         {func(_ *testing.T, _ *leaseStore, l *leaseLink) { l.set(blind) }, false},
		"an older version": {func(t *testing.T, s *leaseStore, _ *leaseLink) {
			s.set(t, leadership.Lease, "old", nil, map[string]string{metalv1.AnnotationShards: textOfDivision(5, "a")})
		}, false},
		"another shard is held": {func(t *testing.T, s *leaseStore, _ *leaseLink) {
			s.set(t, "farrier-shard-1-of-5", "b", leaseLabels(5), nil)
		}, true},
		"one of another division is held": {func(t *testing.T, s *leaseStore, _ *leaseLink) {
			s.set(t, "farrier-shard-1-of-4", "b", leaseLabels(4), nil)
		}, false},
		"one of another division was held": {func(t *testing.T, s *leaseStore, _ *leaseLink) {
			s.set(t, "farrier-shard-1-of-4", "", leaseLabels(4), nil)
		}, true},
		"one of another installation is held": {func(t *testing.T, s *leaseStore, _ *leaseLink) {
			s.set(t, "farrier-shard-1-of-4.hall-1", "b", leaseLabels(4), nil)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, store, link := shardsOf(5)
				store.leads(t, "a", 5)
				c.prepare(t, store, link)
				err := h.confirm(t.Context())
				var unconfirmed *unconfirmedError
				if (err == nil) != c.begins || err != nil && !errors.As(err, &unconfirmed) {
					t.Errorf("begins: %v, want %t", err, c.begins)
				}
			})
		})
	}
}

// TestAShardOfAnotherDivisionIsWaitedFor until its holder has not renewed it for as long as it is valid, and no longer.
func TestAShardOfAnotherDivisionIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, store, _ := shardsOf(5)
		store.leads(t, "a", 5)
		for range 10 { // renewed again and again
			store.set(t, "farrier-shard-1-of-4", "b", leaseLabels(4), nil)
			if h.confirm(t.Context()) == nil {
				t.Fatal("begins, and another division is held")
			}
			after(leaseDuration - 2*time.Second)
		}
		after(3 * time.Second)
		if err := h.confirm(t.Context()); err != nil {
			t.Errorf("after the holder is gone: %v", err)
		}
	})
}

// TestATermEndsWhenTheLeaderIsNotHeardOf, in time for whatever the leader says now, although the Leases of shards can be renewed.
func TestATermEndsWhenTheLeaderIsNotHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, store, link := shardsOf(3)
		store.leads(t, "a", 3)
		var terms atomic.Int32
		h.term = func(ctx context.Context, _ int) error {
			terms.Add(1)
			<-ctx.Done()
			terms.Add(-1)
			return nil
		}
		heard := time.Now().Add(time.Minute)
		h.known = func() (division, time.Time) {
			if now := time.Now(); now.Before(heard) {
				return division{shards: 3}, now
			}
			return division{shards: 3}, heard
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); h.run(ctx) }()
		after(time.Minute - time.Second)
		if got := terms.Load(); got != 3 {
			t.Errorf("%d terms run", got)
		}
		after(renewDeadline - 2*time.Second)
		link.set(deaf) // so that a turn is under way when the time comes
		after(3*time.Second + retryPeriod/4)
		if got := terms.Load(); got != 0 {
			t.Errorf("%d terms run %s after the leader was heard of", got, time.Since(heard))
		}
		stop()
		<-ended
	})
}

// TestWhatNobodyHoldsIsRemoved: members that are gone, and shards of another division, long after anybody changed them; nothing that somebody holds, or that
// this division needs.
func TestWhatNobodyHoldsIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, store, _ := shardsOf(5)
		five, three := leaseLabels(5), leaseLabels(3)
		store.set(t, "farrier-member-gone", "gone", five, nil)
		store.set(t, "farrier-shard-0-of-3", "gone", three, nil)
		store.set(t, "farrier-shard-0-of-5", "gone", five, nil)
		store.set(t, "farrier-member-renewed", "renewed", five, nil)
		store.set(t, "somebody-else", "gone", nil, nil)
		has := func(name string) bool {
			_, err := store.get(name)
			return err == nil
		}
		began := time.Now()
		for range int(forgetAfter/retryPeriod) + 2 {
			if time.Since(began) < forgetAfter && !has("farrier-member-gone") {
				t.Fatal("a member is removed before its time")
			}
			store.set(t, "farrier-member-renewed", "renewed", five, nil)
			if err := h.look(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.removeGone(t.Context())
			time.Sleep(retryPeriod) // the clock is the test's
		}
		for name, stays := range map[string]bool{
			"farrier-member-gone": false, "farrier-shard-0-of-3": false, "farrier-shard-0-of-5": true, "farrier-member-renewed": true, "somebody-else": true,
		} {
			if has(name) != stays {
				t.Errorf("%s is there: %t, want %t", name, has(name), stays)
			}
		}
	})
}
