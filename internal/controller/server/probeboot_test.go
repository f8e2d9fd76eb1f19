package server

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
)

// asksForProbe asks for a boot of the probe.
func (s *stand) asksForProbe(t *testing.T, id string) {
	t.Helper()
	s.change(t, func(o *metalv1.Server) { metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationProbeBoot, id) })
}

// TestTheProbeIsBootedOnceMore on request: the machine is discovered as if it were new, no claim gets it meanwhile, and one request is one boot,
// also for a manager that starts in between.
func TestTheProbeIsBootedOnceMore(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.watch = func(o *metalv1.Server) {
			if probeboot.Of(o).Pending() && allocator.Free(o) {
				t.Errorf("a claim may take it: %s, %v", o.Status.State, o.Annotations)
			}
			if c := apimeta.FindStatusCondition(o.Status.Conditions, conditionLate); c == nil || c.Status != metav1.ConditionFalse {
				t.Errorf("it is late in %s: %+v", o.Status.State, c)
			}
		}
		on := count(s.hw.Resets(), " On")
		s.API.Clock.Step(time.Hour)
		s.asksForProbe(t, "one")
		s.settle(t)
		s.ready(t, namespace+"/"+host)
		s.restart(t)
		s.discovering(t)
		if probeboot.Reported(s.read(t), "one") || count(s.told, "ProbeBootBegan") != 1 {
			t.Errorf("before the report: %v, events %v", s.read(t).Annotations, s.told)
		}
		s.reports(t)
		s.pass(t, 10*time.Second)
		server := s.is(t, metalv1.ServerStateAvailable)
		if !probeboot.Reported(server, "one") || !allocator.Free(server) || server.Status.PowerState != metalv1.PowerStateOff {
			t.Errorf("after the report: %v, %s", server.Annotations, server.Status.PowerState)
		}
		s.restart(t)
		s.pass(t, time.Minute)
		s.is(t, metalv1.ServerStateAvailable)
		if got := count(s.hw.Resets(), " On") - on; got != 1 {
			t.Errorf("one request switched the machine on %d times", got)
		}
		s.asksForProbe(t, "two")
		s.discovering(t)
		if got := probeboot.Of(s.read(t)); got.ID != "two" || !got.Pending() {
			t.Errorf("another request: %+v", got)
		}
	})
}

// TestAProbeThatDoesNotReportAnyMore leaves its server in Error, with the report of before on record, until a person asks for another try.
func TestAProbeThatDoesNotReportAnyMore(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.asksForProbe(t, "one")
		s.discovering(t)
		for range 60 {
			if !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, namespace+"/"+host) {
				s.ready(t, namespace+"/"+host)
			}
			s.pass(t, time.Minute)
		}
		server := s.is(t, metalv1.ServerStateError)
		s.says(t, metalv1.ConditionReady, metav1.ConditionFalse, "DiscoveryFailed", "retry")
		if !probeboot.Of(server).Pending() || allocator.Free(server) {
			t.Errorf("after its failure: %v", server.Annotations)
		}
		if controllertest.Gone[corev1.ConfigMap](t, s.API, namespace+"/"+machinerecord.InspectionName(host)) {
			t.Error("the inspection that there was is gone")
		}
		s.operate(t, metalv1.OperationRetry)
		s.discovering(t)
		s.reports(t)
		s.pass(t, 10*time.Second)
		if server := s.is(t, metalv1.ServerStateAvailable); !probeboot.Reported(server, "one") {
			t.Errorf("after a retry: %v", server.Annotations)
		}
	})
}

// TestAServerThatIsParkedInBetween boots its probe anew once it is not parked any more.
func TestAServerThatIsParkedInBetween(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.asksForProbe(t, "one")
		s.discovering(t)
		before := s.attempt(t, namespace+"/"+host).ID
		s.operate(t, metalv1.OperationPark)
		s.pass(t, 10*time.Second)
		s.is(t, metalv1.ServerStateParked)
		s.operate(t, metalv1.OperationUnpark)
		s.discovering(t)
		if after := s.attempt(t, namespace+"/"+host).ID; after == before {
			t.Errorf("the attempt that was interrupted goes on: %s", after)
		}
	})
}

// TestAClaimedServerBootsNoProbe: the request waits until the claim has given the server back.
func TestAClaimedServerBootsNoProbe(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		resets := len(s.hw.Resets())
		s.asksForProbe(t, "one")
		s.pass(t, time.Minute)
		s.is(t, metalv1.ServerStateReserved)
		if got := s.hw.Resets(); len(got) != resets || probeboot.Of(s.read(t)) != nil {
			t.Errorf("a claimed machine was told %v", got[resets:])
		}
		s.ends(t, claim)
		s.discovering(t)
	})
}

// TestAnOldReportIsNotALaterOne, though the cache shows an older one still when the boot begins.
func TestAnOldReportIsNotALaterOne(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		before := s.read(t).Status.InspectionAttempt
		lagging := s.Lagging(t, &corev1.ConfigMapList{})
		controllertest.Change(t, s.API, namespace+"/"+machinerecord.InspectionName(host), func(c *corev1.ConfigMap) {
			c.Annotations[machinerecord.AnnotationAttempt] = "newest"
		})
		s.Client = lagging
		s.asksForProbe(t, "one")
		s.Step(t, s.Reconciler, host)
		if got := probeboot.Of(s.read(t)); got == nil || got.Before != "newest" || before == "newest" {
			t.Errorf("it began after the report of %+v", got)
		}
	})
}

// TestTheTimeOfADiscoveryOnRequest begins with it, however old the server is.
func TestTheTimeOfADiscoveryOnRequest(t *testing.T) {
	v := newView(func(v *View) {
		v.Server.CreationTimestamp = metav1.NewTime(now.Add(-1000 * time.Hour))
		boot := probeboot.Boot{ID: "one", Begun: now.Add(-time.Minute), Before: "a"}
		v.Inspected, v.Server.Annotations = "a", map[string]string{metalv1.AnnotationProbeBooted: boot.String()}
	})
	if ph := derive(v); ph != initial || v.stateDue(ph).Before(now) {
		t.Errorf("in %s it is late at %s", ph.state, v.stateDue(ph))
	}
}

// TestARequestWaits while no discovery could begin: the server stays Available.
func TestARequestWaits(t *testing.T) {
	ready := func(v *View) {
		v.Inspected, v.Server.Annotations = "a", map[string]string{metalv1.AnnotationProbeBoot: "one"}
		power("Off")(v)
		v.System.Seen = now
	}
	for name, tt := range map[string]struct {
		change func(*View)
		begins bool
	}{
		"ready":              {func(*View) {}, true},
		"no probe image":     {func(v *View) { v.Policy.ProbeImage = "" }, false},
		"nothing observed":   {func(v *View) { v.System = nil }, false},
		"the BMC is silent":  {func(v *View) { v.Unreachable = errors.New("refused") }, false},
		"no inventory":       {func(v *View) { v.System.Inventory = nil }, false},
		"on":                 {func(v *View) { power("On")(v) }, false},
		"deleted":            {func(v *View) { v.Server.DeletionTimestamp = &metav1.Time{Time: now} }, false},
		"discovery not over": {internalBoot(nil), false},
		"this one was done": {func(v *View) {
			v.Server.Annotations[metalv1.AnnotationProbeBooted] = (&probeboot.Boot{ID: "one", Begun: now, Before: "z", Reported: now}).String()
		}, false},
		"what nobody can read": {func(v *View) { v.Server.Annotations[metalv1.AnnotationProbeBooted] = "yes" }, true},
	} {
		v := newView(ready, tt.change)
		ph, p := decide(v)
		begins := slices.ContainsFunc(p.Edits, func(e Edit) bool { a, is := e.(setAnnotation); return is && a.key == metalv1.AnnotationProbeBooted })
		if ph != available || begins != tt.begins {
			t.Errorf("%s: in %s, begins %v, want %v", name, ph.state, begins, tt.begins)
		}
	}
}
