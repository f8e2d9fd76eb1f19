package claim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// busy is a server of somebody.
func busy(name string) *metalv1.Server {
	return free(name, func(s *metalv1.Server) {
		s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "other"}
	})
}

// TestWhyIsSaidOnceAMinute: counts change with every server; the first is said at once, and a new reason.
func TestWhyIsSaidOnceAMinute(t *testing.T) {
	api := controllertest.NewAPI(t, busy("a"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	checkUnbound(t, api, "c", metalv1.ReasonAllMatchingServersBusy, "1 Server matches: 1 of other claims")

	api.Add(t, busy("b"))
	api.ForgetWrites()
	r.clock.Step(20 * time.Second)
	if result := api.Step(t, r, "ns/c"); result.RequeueAfter != 40*time.Second {
		t.Errorf("looked at again after %v", result.RequeueAfter)
	}
	if w := api.Writes(""); len(w) != 0 {
		t.Errorf("written within the minute: %v", w)
	}
	r.clock.Step(40 * time.Second)
	api.Step(t, r, "ns/c")
	checkUnbound(t, api, "c", metalv1.ReasonAllMatchingServersBusy, "2 Servers match: 2 of other claims")

	api.Add(t, free("d", func(s *metalv1.Server) { s.Spec.Taints = []metalv1.Taint{{Key: "k"}} }))
	controllertest.ChangeStatus(t, api, "d", becomesFree)
	api.Step(t, r, "ns/c")
	checkUnbound(t, api, "c", metalv1.ReasonTaintNotTolerated, "3 Servers match: 1 with a taint")
}

// TestAStartRepeatsNothing: a new process does not write what the old one has said.
func TestAStartRepeatsNothing(t *testing.T) {
	api := controllertest.NewAPI(t, busy("a"), newClaim("c"))
	api.Settle(t, newReconciler(api), "ns/c")
	api.Add(t, busy("b"))
	api.ForgetWrites()
	api.Step(t, newReconciler(api), "ns/c")
	if w := api.Writes(""); len(w) != 0 {
		t.Errorf("written: %v", w)
	}
}

// TestWhatAClaimHasBesideItsServerIsGivenBack: a process that was started with an old cache has taken a second one.
func TestWhatAClaimHasBesideItsServerIsGivenBack(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), free("t"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	uid := string(readClaim(t, api, "c").UID)
	controllertest.Change(t, api, "t", func(s *metalv1.Server) {
		s.Annotations = map[string]string{metalv1.AnnotationClaimedBy: uid}
		s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "c"}
	})
	api.Settle(t, r, "ns/c")
	if s := readServer(t, api, "t"); s.Spec.ServerClaimRef != nil || s.Annotations[metalv1.AnnotationClaimedBy] != uid {
		t.Errorf("the second: %v, marked %q; it has to be given back, and cleaned", s.Spec.ServerClaimRef, s.Annotations[metalv1.AnnotationClaimedBy])
	}
	checkBound(t, api, "c", "s")
}

func TestReinstallPendingIsSaidOnTheClaim(t *testing.T) {
	api := controllertest.NewAPI(t, free("s"), newClaim("c"))
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	say := func(reason string) {
		controllertest.ChangeStatus(t, api, "s", func(s *metalv1.Server) {
			apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
				Type: metalv1.ConditionBootReady, Status: metav1.ConditionFalse, Reason: reason, Message: "registry/os:1 is installed",
			})
		})
		api.Settle(t, r, "ns/c")
	}
	say(metalv1.ReasonReinstallPending)
	controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse,
		metalv1.ReasonReinstallPending, "registry/os:1 is installed")
	say("Installed")
	controllertest.Says(t, readClaim(t, api, "c").Status.Conditions, metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationPending")
}

// TestWhatIsHeardOfServers: what is heard of servers queues the claims that it concerns, and no more.
func TestWhatIsHeardOfServers(t *testing.T) {
	api := controllertest.NewAPI(t, newClaim("waiting"), newClaim("named", wants("s")))
	r := newReconciler(api)
	for _, name := range []string{"ns/waiting", "ns/named"} {
		api.Settle(t, r, name)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	woken := func() bool { return len(r.matcher.signal) == 1 }
	heard := func(before, after *metalv1.Server) int {
		if woken() {
			<-r.matcher.signal
		}
		for queue.Len() > 0 {
			req, _ := queue.Get()
			queue.Done(req)
		}
		if before == nil {
			r.serverChanged(t.Context(), nil, after, queue)
		} else {
			r.serverChanged(t.Context(), before, after, queue)
		}
		return queue.Len()
	}
	waits := free("s", inDiscovery)
	if n := heard(nil, waits); n != 1 || woken() {
		t.Errorf("a server that appears: %d queued, matcher woken %t", n, woken())
	}
	blinks := waits.DeepCopy()
	blinks.Status.IndicatorLED = "Lit"
	if n := heard(waits, blinks); n != 0 || woken() {
		t.Errorf("a light: %d queued, matcher woken %t", n, woken())
	}
	if heard(blinks, free("s")); !woken() {
		t.Error("a server that becomes free does not wake the matcher")
	}
	taken := free("s", func(s *metalv1.Server) {
		s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "waiting"}
	})
	if n := heard(free("s"), taken); n != 2 {
		t.Errorf("a server that is taken: %d queued", n)
	}
	ordered := taken.DeepCopy()
	ordered.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionPoweringOn, Status: metav1.ConditionTrue, Reason: "BootOrdered"}}
	if n := heard(taken, ordered); n != 1 || woken() {
		t.Errorf("an order to power on: %d queued, matcher woken %t", n, woken())
	}
	if n := heard(taken, free("s")); n != 2 {
		t.Errorf("a server that is taken away: %d queued", n)
	}
}

// TestTheMatcherGathers: what comes within a moment is decided together, the oldest first.
func TestTheMatcherGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := allocator.NewPool()
		m := newMatcher(pool, clock.RealClock{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Start(ctx) }()
		pool.Observe(free("s"))
		young, old := newClaim("young"), newClaim("old")
		young.UID, old.UID = "young", "old"
		young.CreationTimestamp, old.CreationTimestamp = metav1.NewTime(controllertest.Start.Add(time.Hour)), metav1.NewTime(controllertest.Start)
		for _, c := range []*metalv1.ServerClaim{young, old} {
			if _, err := pool.Pend(c); err != nil {
				t.Fatal(err)
			}
			m.wake()
			m.wake()
			time.Sleep(gathering / 4)
		}
		synctest.Wait()
		if _, ok := pool.Assumed("young"); ok {
			t.Error("the younger was served before the older had come")
		}
		time.Sleep(gathering)
		synctest.Wait()
		if assumed, _ := pool.Assumed("old"); assumed.Server != "s" {
			t.Errorf("the older was given %+v", assumed)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
