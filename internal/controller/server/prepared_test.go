package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// known has internal boots derived of an image that is known before they are prepared.
func (s *stand) known() {
	s.Derived = &derivedboot.Configs{Namespace: namespace, Named: func(_ *metalv1.Server, reference string) (derivedboot.Image, bool) {
		return probeImage, reference == probeImage.Reference
	}}
}

// prepares runs a test up to where the boot of the probe is prepared. The image is known by then, and what else there is is set up before.
func prepares(t *testing.T, before func(*stand), test func(*testing.T, *stand)) {
	t.Helper()
	stands(t, func(t *testing.T, s *stand) {
		s.known()
		if before != nil {
			before(s)
		}
		for controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, theProbe) {
			s.settle(t)
		}
		test(t, s)
	})
}

// TestABootIsOrderedByItsPreparation where the machine is off and its image is known: with what it boots, in one write, and the machine is switched
// on only when its boot configuration is ready.
func TestABootIsOrderedByItsPreparation(t *testing.T) {
	t.Parallel()
	var recorded []string
	prepares(t, func(s *stand) {
		s.Recorded = func(server, attempt string) { recorded = append(recorded, server+" "+attempt) }
	}, func(t *testing.T, s *stand) {
		a := s.attempt(t, theProbe)
		config := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, theProbe)
		if plan, ordered := derivedboot.Ordered(config); !a.Open() || a.Off == nil || !ordered || plan.Digest != "sha256:1" {
			t.Fatalf("the attempt is %v, its image %v", a, config.Annotations[metalv1.AnnotationBootImage])
		}
		if len(recorded) != 1 || recorded[0] != host+" "+a.ID {
			t.Errorf("recorded: %v", recorded)
		}
		s.pass(t, while+time.Second)
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationPending")
		s.pass(t, time.Minute)
		if got := s.hw.Resets(); len(got) != 0 {
			t.Fatalf("the machine was told %v before it is known what it boots", got)
		}
		s.derived(t)
		s.ready(t, theProbe)
		s.pass(t, 20*time.Second)
		if now := s.attempt(t, theProbe); now.ID != a.ID || now.Started == nil || count(s.hw.Resets(), " On") != 1 {
			t.Errorf("the attempt is %v, the machine was told %v", now, s.hw.Resets())
		}
		if len(recorded) != 1 {
			t.Errorf("recorded: %v", recorded)
		}
		s.reports(t)
		s.pass(t, 10*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		writes := map[string]int{}
		for _, w := range s.Writes("ServerBootConfiguration") {
			writes[w.Verb]++
		}
		if writes[controllertest.Create] != 1 || writes[controllertest.Patch] != 1 {
			t.Errorf("it is ordered by its creation, and then seen on: %v", writes)
		}
	})
}

// TestWhatIsNotOrderedByItsPreparation: what is not known yet is found out first.
func TestWhatIsNotOrderedByItsPreparation(t *testing.T) {
	for name, before := range map[string]func(*stand){
		"the machine is on": func(s *stand) { s.hw.Power(uri, bmc.PowerOn) },
		"nobody knows the image": func(s *stand) {
			s.Derived.Named = func(*metalv1.Server, string) (derivedboot.Image, bool) { return derivedboot.Image{}, false }
		},
		"another boot provider":     func(s *stand) { s.Derived = nil },
		"the BMC has to name a URL": func(s *stand) { s.Reconciler.Policy.BMCIdentity = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepares(t, before, func(t *testing.T, s *stand) {
				config := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, theProbe)
				if a := s.attempt(t, theProbe); a == nil || a.Begun() || config.Annotations[metalv1.AnnotationBootImage] != "" {
					t.Errorf("the attempt is %v, the image %s", a, config.Annotations[metalv1.AnnotationBootImage])
				}
			})
		})
	}
}

// TestAPreparedBootThatCannotBeBootedSwitchesNothing, however long it was ordered, until it can be.
func TestAPreparedBootThatCannotBeBootedSwitchesNothing(t *testing.T) {
	t.Parallel()
	prepares(t, nil, func(t *testing.T, s *stand) {
		s.derived(t)
		controllertest.ChangeStatus(t, s.API, theProbe, func(c *metalv1.ServerBootConfiguration) {
			c.Status.State, c.Status.ObservedGeneration = metalv1.ServerBootConfigurationStateError, c.Generation
		})
		s.pass(t, 20*time.Minute)
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationError")
		if got := s.hw.Resets(); len(got) != 0 {
			t.Fatalf("the machine was told %v", got)
		}
		// The boot servers have as long as ever to get to know the boot.
		s.silent = true
		controllertest.ChangeStatus(t, s.API, theProbe, func(c *metalv1.ServerBootConfiguration) {
			c.Status.State = metalv1.ServerBootConfigurationStateReady
			c.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.NewTime(s.API.Clock.Now())}}
		})
		s.pass(t, acknowledgeDelay-2*time.Second)
		if got := s.hw.Resets(); len(got) != 0 {
			t.Errorf("no boot server knows it, and the machine was told %v", got)
		}
		s.pass(t, 5*time.Second)
		if got := s.hw.Resets(); count(got, " On") != 1 {
			t.Errorf("the machine was told %v", got)
		}
	})
}

// TestABootGoesOnWhileStatusIsSilent: that its boot configuration is ready is known before status says so, and forgotten with the process.
func TestABootGoesOnWhileStatusIsSilent(t *testing.T) {
	t.Parallel()
	prepares(t, nil, func(t *testing.T, s *stand) {
		ready := &metalv1.ServerBootConfigurationStatus{State: metalv1.ServerBootConfigurationStateReady, ObservedGeneration: 1}
		describe := func() {
			s.derived(t)
			s.Derived.Describe(controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, theProbe), ready)
		}
		s.silent = true
		describe()
		s.settle(t)
		s.restart(t)
		s.known()
		s.silent = false
		s.pass(t, 20*time.Second)
		if got := s.hw.Resets(); len(got) != 0 {
			t.Fatalf("this process does not know yet that it is ready, and the machine was told %v", got)
		}
		describe()
		s.pass(t, 20*time.Second)
		config := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, theProbe)
		if a := s.attempt(t, theProbe); a.Started == nil || config.Status.State != "" {
			t.Errorf("the attempt is %v, status %v", a, config.Status)
		}
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionTrue, "BootConfigurationReady")
	})
}

// TestWritesOfADiscovery of a machine that is off: each of these is one of ten thousand.
func TestWritesOfADiscovery(t *testing.T) {
	t.Parallel()
	prepares(t, nil, func(t *testing.T, s *stand) {
		s.derived(t)
		ready := &metalv1.ServerBootConfigurationStatus{State: metalv1.ServerBootConfigurationStateReady, ObservedGeneration: 1}
		s.Derived.Describe(controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, theProbe), ready)
		s.pass(t, 10*time.Second)
		s.reports(t)
		s.pass(t, 10*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		writes := map[string]int{}
		for _, w := range s.Writes("") {
			writes[w.Kind+" "+w.Verb]++
		}
		want := map[string]int{
			"BMC patch": 1, "BMC patch status": 1, // its finalizer, which one of an Endpoint has; it has no UUID that would be written down
			"Server create": 1, "Server patch": 2, "Server patch status": 2, // its boot is named, and no longer; Discovery, Available
			"Secret create": 1, "Secret delete": 1,
			"ServerBootConfiguration create": 1, "ServerBootConfiguration patch": 1, "ServerBootConfiguration delete": 1, // ordered, seen on, gone
			"ConfigMap create": 1, // the report
		}
		if diff := cmp.Diff(want, writes); diff != "" {
			t.Errorf("- want, + got\n%s", diff)
		}
	})
}

// TestAPreparedBootSurvivesTheManager: it is ordered, and the next manager carries on with the same image.
func TestAPreparedBootSurvivesTheManager(t *testing.T) {
	t.Parallel()
	prepares(t, nil, func(t *testing.T, s *stand) {
		first := s.attempt(t, theProbe)
		s.ready(t, theProbe)
		s.restart(t)
		s.known()
		s.pass(t, time.Minute)
		if got := s.hw.Resets(); len(got) != 0 {
			t.Fatalf("the machine was told %v before it is known how it boots", got)
		}
		s.derived(t)
		s.pass(t, 30*time.Second)
		if now := s.attempt(t, theProbe); now.ID != first.ID || now.Started == nil || count(s.hw.Resets(), " On") != 1 {
			t.Errorf("the attempt is %v and was %v, the machine was told %v", now, first, s.hw.Resets())
		}
	})
}

// TestAPreparedBootThatIsNotWrittenOrdersNothing: its creation fails as often as there are objects.
func TestAPreparedBootThatIsNotWrittenOrdersNothing(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		var recorded []string
		s.known()
		s.Recorded = func(_, attempt string) { recorded = append(recorded, attempt) }
		s.Fail = func(verb string, obj runtime.Object) error {
			if config, ok := obj.(*metalv1.ServerBootConfiguration); ok && verb == controllertest.Create {
				return conflict(config)
			}
			return nil
		}
		for range 20 {
			s.rack.Pass(time.Second)
			s.Step(t, s.bmcs, "b")
			if !controllertest.Gone[metalv1.Server](t, s.API, host) {
				s.Step(t, s.Reconciler, host)
			}
		}
		if got := s.hw.Resets(); len(got) != 0 || len(recorded) != 0 {
			t.Fatalf("the machine was told %v, recorded are %v", got, recorded)
		}
		s.Fail = nil
		for controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, theProbe) {
			s.pass(t, time.Second)
		}
		if a := s.attempt(t, theProbe); !a.Open() || len(recorded) != 1 || recorded[0] != a.ID {
			t.Errorf("the attempt is %v, recorded are %v", a, recorded)
		}
	})
}

// TestACleanupIsOrderedByItsPreparation: the machine of the claim that has ended was seen off.
func TestACleanupIsOrderedByItsPreparation(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.cleans(inspection.CleanMetadata)
		claim := s.reserved(t)
		s.known()
		before := count(s.hw.Resets(), " On")
		s.ends(t, claim)
		for controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, theProbe) {
			s.pass(t, time.Second)
		}
		if a := s.attempt(t, theProbe); !a.Open() || a.Off == nil || a.Clean != inspection.CleanMetadata {
			t.Fatalf("the attempt is %v", a)
		}
		s.pass(t, 5*time.Second)
		if got := count(s.hw.Resets(), " On"); got != before {
			t.Fatalf("the machine was told %v before it is known what it boots", s.hw.Resets())
		}
		s.derived(t)
		s.ready(t, theProbe)
		s.pass(t, 20*time.Second)
		s.mustTell(t, both, good)
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
	})
}
