package biossettings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/sim"
)

// TestSettingsAreApplied is the whole way before the BMCs of several vendors.
func TestSettingsAreApplied(t *testing.T) {
	for _, vendor := range []sim.Vendor{sim.Standard, sim.Dell, sim.HPE, sim.Lenovo, sim.Supermicro, sim.AMI} {
		t.Run(string(vendor), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, vendor)
			s.Add(t, wanted())
			s.waits(t)
			controllertest.Says(t, s.settings(t).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonWaitingForMaintenance, "SystemProfile")
			s.grants(t)
			b := s.untilState(t, metalv1.BIOSSettingsStateApplied)
			if b.Spec.ServerMaintenanceRef != nil || !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "farrier-system/bios-b") {
				t.Error("the maintenance is there still")
			}
			if b.Status.LastAppliedTime == nil || len(b.Status.FlowState) != 2 || b.Status.FlowState[0].Name != "first" || b.Status.FlowState[1].State != metalv1.BIOSSettingsStateApplied {
				t.Errorf("status %+v", b.Status)
			}
			if diff := cmp.Diff([]string{"first", "second"}, s.items); diff != "" {
				t.Errorf("parts of the flow (-want +got)\n%s", diff)
			}
			s.until(t, "off, and free for others", func(*metalv1.BIOSSettings) bool {
				o, _ := s.Fleet.Observe(s.key)
				return len(o.Systems) == 1 && o.Systems[0].PowerState == "Off" && o.LockedBy == ""
			})
			// Everything can be derived again.
			controllertest.ChangeStatus(t, s.API, "b", func(b *metalv1.BIOSSettings) { b.Status = metalv1.BIOSSettingsStatus{} })
			s.untilState(t, metalv1.BIOSSettingsStateApplied)
		})
	}
}

// TestARolloutIsWaitedFor: no server is asked for until there is a permit.
func TestARolloutIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	s.Add(t, wanted(func(b *metalv1.BIOSSettings) { rolloutpermit.SetPolicy(b, "careful") }))
	b := s.until(t, "waits for the rollout", func(b *metalv1.BIOSSettings) bool {
		c := b.Status.Conditions
		return len(c) > 0 && c[0].Reason == metalv1.ReasonWaitingForRollout
	})
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonWaitingForRollout, "SystemProfile", `"careful"`)
	if b.Status.State != metalv1.BIOSSettingsStatePending || !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "farrier-system/bios-b") {
		t.Errorf("state %s; or a server was asked for without a permit", b.Status.State)
	}
	controllertest.Change(t, s.API, "b", func(b *metalv1.BIOSSettings) { rolloutpermit.Set(b, &rolloutpermit.Permit{Begun: s.API.Clock.Now()}) })
	s.waits(t)
}

// TestARestartInTheMiddle: a manager that knows nothing goes on where the other one stopped.
func TestARestartInTheMiddle(t *testing.T) {
	for _, at := range []step{stepWrite, stepOff, stepOn, stepVerify, stepFinish} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, sim.Standard)
			s.Add(t, wanted())
			s.grants(t)
			s.until(t, string(at), func(b *metalv1.BIOSSettings) bool {
				p := progressOf(b)
				return p != nil && (p.Step == at || p.Step == stepDone)
			})
			s.memories.forget(s.settings(t).UID)
			s.untilState(t, metalv1.BIOSSettingsStateApplied)
		})
	}
}

func TestWhatTheFirmwareWouldRefuse(t *testing.T) {
	one := func(name, value string) func(*metalv1.BIOSSettings) {
		return func(b *metalv1.BIOSSettings) {
			b.Spec.SettingsFlow = []metalv1.SettingsFlowItem{{Name: "only", Priority: 1, Settings: map[string]string{name: value}}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*metalv1.BIOSSettings)
		state  metalv1.BIOSSettingsState
		reason string
		says   string
	}{
		"unknown attribute": {one("Turbo", "On"), metalv1.BIOSSettingsStateFailed, reasonUnknownAttribute, "Turbo"},
		"wrong value":       {one("SystemProfile", "Loud"), metalv1.BIOSSettingsStateFailed, reasonInvalidValue, "SystemProfile"},
		"wrong type":        {one("BootRetryCount", "many"), metalv1.BIOSSettingsStateFailed, reasonInvalidValue, "BootRetryCount"},
		"out of range":      {one("BootRetryCount", "99"), metalv1.BIOSSettingsStateFailed, reasonInvalidValue, "BootRetryCount"},
		"neither nor":       {one("QuietBoot", "perhaps"), metalv1.BIOSSettingsStateFailed, reasonInvalidValue, "QuietBoot"},
		"read-only":         {one("SystemServiceTag", "mine"), metalv1.BIOSSettingsStateFailed, reasonReadOnlyAttribute, "SystemServiceTag"},
		"another version":   {func(b *metalv1.BIOSSettings) { b.Spec.Version = "2.10.1" }, metalv1.BIOSSettingsStatePending, reasonVersionMismatch, "2.10.1"},
		"no server":         {func(b *metalv1.BIOSSettings) { b.Spec.ServerRef.Name = "x" }, metalv1.BIOSSettingsStatePending, reasonServerNotFound, "x"},
		"nothing to do":     {one("SystemProfile", "Performance"), metalv1.BIOSSettingsStateApplied, reasonApplied, "1"},
		"equal version":     {func(b *metalv1.BIOSSettings) { one("QuietBoot", "False")(b); b.Spec.Version = "v2.4.1.0" }, metalv1.BIOSSettingsStateApplied, reasonApplied, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, sim.Standard)
			s.Add(t, wanted(tc.change))
			b := s.until(t, tc.reason, func(b *metalv1.BIOSSettings) bool {
				return len(b.Status.Conditions) > 0 && b.Status.Conditions[0].Reason == tc.reason
			})
			status := metav1.ConditionFalse
			if tc.state == metalv1.BIOSSettingsStateApplied {
				status = metav1.ConditionTrue
			}
			controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, status, tc.reason, tc.says)
			if b.Status.State != tc.state || b.Spec.ServerMaintenanceRef != nil || !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "farrier-system/bios-b") {
				t.Errorf("state %s, maintenance %v", b.Status.State, b.Spec.ServerMaintenanceRef)
			}
		})
	}
}

func TestDeletionWaitsForWhatIsUnderWay(t *testing.T) {
	s := newStand(t, sim.Standard)
	s.Add(t, wanted())
	s.grants(t)
	s.until(t, "past the first step", func(b *metalv1.BIOSSettings) bool {
		p := progressOf(b)
		return p.active() && p.Step != stepBegin // before that nothing has been touched, and a deletion waits for nothing
	})
	s.Remove(t, s.settings(t))
	s.Step(t, s.Reconciler, "b")
	if controllertest.Gone[metalv1.BIOSSettings](t, s.API, "b") {
		t.Fatal("gone in the middle")
	}
	stale := s.settings(t)
	controllertest.Change(t, s.API, "b", func(b *metalv1.BIOSSettings) {
		b.Annotations[metalv1.AnnotationOperation] = metalv1.OperationAllowInProgressDelete
	})
	s.Step(t, s.Reconciler, "b")
	if !controllertest.Gone[metalv1.BIOSSettings](t, s.API, "b") || !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "farrier-system/bios-b") {
		t.Error("it is there still, or its maintenance is")
	}
	// A cache that is behind shows it once more.
	if _, _, err := s.Reconciler.gather(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	if _, bound := s.Registry.Key(&s.Wake, "b"); !bound {
		t.Fatal("this look bound nothing, so the test shows nothing")
	}
	s.Step(t, s.Reconciler, "b")
	if key, bound := s.Registry.Key(&s.Wake, "b"); bound {
		t.Errorf("bound to %s, and gone", key)
	}
}

func TestOneForEachServer(t *testing.T) {
	s := newStand(t, sim.Standard)
	s.Add(t, wanted(func(b *metalv1.BIOSSettings) { b.Name = "a" }))
	s.Add(t, wanted())
	s.Settle(t, s.Reconciler, "b")
	controllertest.Says(t, s.settings(t).Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonAnotherGoesFirst, `"a"`)
}

// TestAMaintenanceOfSomebodyElse is waited for, used, and neither made nor ended.
func TestAMaintenanceOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	ref := metalv1.ObjectReference{Namespace: "default", Name: "window"}
	s.Add(t, wanted(func(b *metalv1.BIOSSettings) { b.Spec.ServerMaintenanceRef = &ref }))
	says := func(words ...string) {
		t.Helper()
		b := s.until(t, reasonWaitingForMaintenance, func(b *metalv1.BIOSSettings) bool {
			return len(b.Status.Conditions) > 0 && b.Status.Conditions[0].Reason == reasonWaitingForMaintenance
		})
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonWaitingForMaintenance, words...)
	}
	says("ServerMaintenance default/window does not exist")
	window := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "window"}}
	window.Spec.ServerRef.Name = "s"
	s.Add(t, window)
	s.Settle(t, s.Reconciler, "b")
	says("waiting for ServerMaintenance default/window to get the server")
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) { o.Spec.ServerMaintenanceRef = &ref })
	b := s.untilState(t, metalv1.BIOSSettingsStateApplied)
	if b.Spec.ServerMaintenanceRef == nil || *b.Spec.ServerMaintenanceRef != ref || controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "default/window") {
		t.Errorf("its maintenance is %v", b.Spec.ServerMaintenanceRef)
	}
	if !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "farrier-system/bios-b") {
		t.Error("another maintenance was asked for")
	}
	s.Remove(t, b)
	s.Settle(t, s.Reconciler, "b")
	if !controllertest.Gone[metalv1.BIOSSettings](t, s.API, "b") || controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "default/window") {
		t.Error("after the settings: they are there still, or the maintenance is not")
	}
}
