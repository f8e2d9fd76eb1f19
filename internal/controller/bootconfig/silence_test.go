package bootconfig

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestANewBootConfigurationIsSilentForAWhile: what it waits for, its image and what it has just made, is usually there in a
// moment, and one write tells of that. What is wrong is said at once.
func TestANewBootConfigurationIsSilentForAWhile(t *testing.T) {
	s, p := pushed(t, kernel)
	s.Reconciler.Clock, s.Reconciler.APIReader = s.API.Clock, nil // nothing is made anew, so nothing is asked
	s.ForgetWrites()
	s.pause.Lock()
	again := s.Settle(t, s.Reconciler, "ns/c").RequeueAfter
	if w := s.Writes("ServerBootConfiguration"); len(w) != 0 || again != settleTime {
		t.Errorf("its image is being resolved: written %v, to be looked at in %s", w, again)
	}
	s.pause.Unlock()
	s.API.Clock.Step(time.Second)
	s.woken(t)
	if again = s.Settle(t, s.Reconciler, "ns/c").RequeueAfter; again != settleTime-time.Second {
		t.Errorf("its IPXEBootConfig is new: to be looked at in %s", again)
	}
	s.delivered(t)
	if w := s.Writes("ServerBootConfiguration"); len(w) != 1 {
		t.Errorf("writes until it is ready: %v", w)
	}
	checkState(t, controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c"), metalv1.ServerBootConfigurationStateReady, p.Digest)
}

// TestSilenceEnds: with what is awaited still, or with what is wrong.
func TestSilenceEnds(t *testing.T) {
	t.Run("it takes long", func(t *testing.T) {
		s, _ := pushed(t, kernel)
		s.Reconciler.Clock = s.API.Clock
		s.pause.Lock()
		defer s.pause.Unlock()
		s.settle(t)
		s.API.Clock.Step(settleTime)
		checkState(t, s.settle(t), metalv1.ServerBootConfigurationStatePending, "resolved")
	})
	t.Run("it is wrong", func(t *testing.T) {
		c := newConfig("registry/os:1")
		c.Spec.ServerRef.Name = "missing"
		s := newStand(t, c)
		s.Reconciler.Clock = s.API.Clock
		checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError, `Server "missing" does not exist`)
	})
}

// TestHalfOfItIsWrong: what the other half is waited for does not matter.
func TestHalfOfItIsWrong(t *testing.T) {
	s, _ := pushed(t, both)
	s.Reconciler.Clock = s.API.Clock
	s.resolved(t)
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *bootv1.HTTPBootConfig) {
		c.Status.State, c.Status.ObservedGeneration = bootv1.HTTPBootConfigStateError, c.Generation
	})
	checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError, "HTTPBootConfig")
}

// TestWhatWasDeletedWithItsBootConfigurationIsNotMadeAnew: the news of the one may come before that of the other.
func TestWhatWasDeletedWithItsBootConfigurationIsNotMadeAnew(t *testing.T) {
	for name, remove := range map[string]func(*testing.T, *stand){
		"it is gone": func(t *testing.T, s *stand) {
			s.Remove(t, controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c"))
		},
		"it is being deleted": func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Finalizers = []string{"example.org/theirs"} })
			if err := s.API.Delete(t.Context(), controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c")); err != nil {
				t.Fatal(err)
			}
		},
		"it was made anew": func(t *testing.T, s *stand) {
			old := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c")
			s.Remove(t, old)
			again := newConfig(old.Spec.Image)
			again.ObjectMeta = metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "another-uid"}
			s.Add(t, again)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := pushed(t, both)
			s.resolved(t)
			s.delivered(t)
			s.Reconciler.Client = s.Lagging(t, &metalv1.ServerBootConfigurationList{})
			remove(t, s)
			for _, child := range []client.Object{s.ipxe(t), s.http(t)} {
				s.Remove(t, child)
			}
			s.ForgetWrites()
			s.Settle(t, s.Reconciler, "ns/c")
			if w := s.Writes(""); len(w) != 0 {
				t.Errorf("written: %v", w)
			}
		})
	}
	t.Run("it is there", func(t *testing.T) {
		s, _ := pushed(t, kernel)
		s.resolved(t)
		s.delivered(t)
		s.Remove(t, s.ipxe(t))
		s.settle(t)
		if owner := metav1.GetControllerOf(controllertest.Read[bootv1.IPXEBootConfig](t, s.API, "ns/c")); owner == nil {
			t.Error("what somebody deleted is not made anew")
		}
	})
}
