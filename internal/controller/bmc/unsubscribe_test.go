package bmc

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// unsubscriber is an Unsubscriber that wants to be asked a few times.
type unsubscriber struct {
	t     *testing.T
	f     *fleet.Fleet
	times int
	err   error
	asked int
}

func (l *unsubscriber) Unsubscribe(obj *metalv1.BMC, key fleet.Key) (bool, error) {
	l.asked++
	if _, lives := l.f.Observe(key); !lives || obj.Name != "b" || key != address {
		l.t.Errorf("asked about %s at %s, actor: %v", obj.Name, key, lives)
	}
	return l.asked >= l.times && l.err == nil, l.err
}

func TestABMCIsUnsubscribedBeforeItsActorEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*testing.T, *stand)
		asked  int
	}{
		"while it is looked after": {func(*testing.T, *stand) {}, 2},
		"after a restart": {func(t *testing.T, s *stand) {
			s.rack.Restart(t)
			s.begin()
		}, 2},
		"after a restart, without credentials": {func(t *testing.T, s *stand) {
			s.rack.Restart(t)
			s.begin()
			s.Remove(t, controllertest.Read[metalv1.BMCSecret](t, s.API, "s"))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			stands(t, func(t *testing.T, s *stand) {
				s.bmc.Set(system(uri1, uuid1))
				s.settle(t)
				tc.before(t, s)
				l := &unsubscriber{t: t, f: s.rack.Fleet, times: 2}
				s.Reconciler.Unsubscriber = l
				s.Remove(t, s.read(t))
				for i := range tc.asked {
					if controllertest.Gone[metalv1.BMC](t, s.API, "b") {
						t.Fatalf("gone after %d of %d", i, tc.asked)
					}
					if result := s.Step(t, s.Reconciler, "b"); i+1 < tc.asked && result.RequeueAfter == 0 {
						t.Error("nobody asks again")
					}
				}
				s.Settle(t, s.Reconciler, "b")
				if !controllertest.Gone[metalv1.BMC](t, s.API, "b") || l.asked != tc.asked {
					t.Errorf("gone: %v, asked %d times, want %d", controllertest.Gone[metalv1.BMC](t, s.API, "b"), l.asked, tc.asked)
				}
				s.rack.Wait()
				if _, lives := s.rack.Fleet.Observe(address); lives {
					t.Error("the actor lives on")
				}
			})
		})
	}
}

// TestALookAtABMCThatIsGone: a cache that is behind shows the BMC once more after its finalizer was removed, and it is bound again to be unsubscribed.
func TestALookAtABMCThatIsGone(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.bmc.Set(system(uri1, uuid1))
		s.settle(t)
		s.Remove(t, s.read(t))
		stale := s.read(t)
		s.Settle(t, s.Reconciler, "b")
		if !controllertest.Gone[metalv1.BMC](t, s.API, "b") {
			t.Fatal("it is not gone")
		}
		s.Reconciler.Unsubscriber = &unsubscriber{t: t, f: s.rack.Fleet, times: 2}
		if err := s.Reconciler.reconcile(t.Context(), &scope{obj: stale}); err != nil {
			t.Fatal(err)
		}
		if _, lives := s.rack.Fleet.Observe(address); !lives {
			t.Fatal("this look began no actor, so the test shows nothing")
		}
		s.Settle(t, s.Reconciler, "b")
		s.rack.Wait()
		if _, lives := s.rack.Fleet.Observe(address); lives {
			t.Error("the actor lives on")
		}
	})
}

func TestAFailedUnsubscribeKeepsTheBMC(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle(t)
		s.Reconciler.Unsubscriber = &unsubscriber{t: t, f: s.rack.Fleet, err: errors.New("the queue is full")}
		s.Remove(t, s.read(t))
		if _, err := s.Reconcile(t.Context(), request("b")); err == nil || controllertest.Gone[metalv1.BMC](t, s.API, "b") {
			t.Errorf("error %v, or gone", err)
		}
	})
}

func TestTroubleWithTheAPIKeepsTheBMC(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.settle(t)
		s.Registry = connection.NewRegistry(s.rack.Fleet) // nothing is bound
		s.Reconciler.Unsubscriber = &unsubscriber{t: t, f: s.rack.Fleet}
		s.Remove(t, s.read(t))
		s.Fail = func(verb string, obj runtime.Object) error {
			if _, secret := obj.(*metalv1.BMCSecret); secret && verb == controllertest.Get {
				return apierrors.NewTimeoutError("etcd is slow", 1)
			}
			return nil
		}
		if _, err := s.Reconcile(t.Context(), request("b")); err == nil || controllertest.Gone[metalv1.BMC](t, s.API, "b") {
			t.Errorf("error %v, or gone", err)
		}
	})
}
