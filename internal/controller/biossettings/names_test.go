package biossettings

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/sim"
)

// twins are two parts of one name that want different things, so that each undoes what the other has done.
func twins(b *metalv1.BIOSSettings) {
	b.Spec.SettingsFlow = []metalv1.SettingsFlowItem{
		{Name: "same", Priority: 1, Settings: map[string]string{"SystemProfile": "Quiet"}},
		{Name: "same", Priority: 2, Settings: map[string]string{"SystemProfile": "Balanced"}},
	}
}

// TestTwoPartsOfOneName: how far a flow has come is remembered by name, so that two parts of one name would be applied in turns for ever.
// They are refused before the server is asked for, and the object can be deleted.
func TestTwoPartsOfOneName(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	s.Add(t, wanted(twins))
	b := s.until(t, "an answer", func(b *metalv1.BIOSSettings) bool {
		return len(b.Status.Conditions) > 0 && !slices.Contains([]string{reasonReading, reasonBMCUnreachable}, b.Status.Conditions[0].Reason)
	})
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "DuplicateFlowName", "spec.settingsFlow[1].name", `"same"`, "settingsFlow[0]")
	if b.Status.State != metalv1.BIOSSettingsStateFailed || b.Spec.ServerMaintenanceRef != nil {
		t.Errorf("state %s, maintenance %v", b.Status.State, b.Spec.ServerMaintenanceRef)
	}
	controllertest.Change(t, s.API, "b", func(b *metalv1.BIOSSettings) { b.Spec.SettingsFlow[1].Name = "other" })
	s.waits(t) // a name of its own is all that was wrong
	controllertest.Change(t, s.API, "b", twins)
	s.untilState(t, metalv1.BIOSSettingsStateFailed)
	s.gone(t)
}

// TestTwoPartsOfOneNameUnderWay: a process that did not look at names has begun with them, and the server is in maintenance.
func TestTwoPartsOfOneNameUnderWay(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	b := wanted()
	s.Add(t, b)
	s.grants(t)
	s.until(t, "under way", func(b *metalv1.BIOSSettings) bool { return progressOf(b).active() })
	controllertest.Change(t, s.API, "b", func(b *metalv1.BIOSSettings) {
		twins(b)
		b.Annotations[annotationProgress] = (&progress{Asked: askedFor(b), Item: "same", Step: stepWrite, Since: s.clock.Now().UTC(), Powered: true}).String()
	})
	s.Remove(t, s.settings(t))
	s.gone(t)
	if len(s.items) > 3 {
		t.Errorf("parts were applied in turns: %v", s.items)
	}
}

// gone waits until an object that is deleted has gone, with what it asked for.
func (s *stand) gone(t *testing.T) {
	t.Helper()
	if b := s.settings(t); b.DeletionTimestamp.IsZero() {
		s.Remove(t, b)
	}
	deadline := time.After(patience / 4)
	for {
		for range 5 {
			s.Step(t, s.Reconciler, "b")
		}
		if controllertest.Gone[metalv1.BIOSSettings](t, s.API, "b") {
			break
		}
		select {
		case <-s.changed:
		case <-time.After(200 * time.Millisecond):
		case <-deadline:
			b := s.settings(t)
			t.Fatalf("it does not go: progress %s, status %+v", b.Annotations[annotationProgress], b.Status)
		}
	}
	if !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "farrier-system/bios-b") {
		t.Error("its maintenance is there still")
	}
}

// TestDeletedBetweenAttempts: an object whose next attempt is an hour away is not waited for.
func TestDeletedBetweenAttempts(t *testing.T) {
	for name, powered := range map[string]bool{"nothing was touched": false, "the machine was switched": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, sim.Standard)
			if powered {
				s.powerOn(t)
			}
			s.Add(t, wanted(attempts(9)))
			s.waits(t)
			// No reconcile runs between this and the deletion: one with a granted maintenance would switch the machine on.
			controllertest.Change(t, s.API, "b", func(b *metalv1.BIOSSettings) {
				later := s.clock.Now().Add(time.Hour).UTC()
				metav1.SetMetaDataAnnotation(&b.ObjectMeta, annotationProgress, (&progress{
					Asked: askedFor(b), Step: stepBegin, Since: s.clock.Now().UTC(), Powered: powered, NotBefore: &later, Failures: 1, Reason: reasonWriteFailed,
				}).String())
			})
			s.grant(t)
			s.gone(t)
			if state := s.rack.Machine(0).PowerState(); state != sim.PowerOff {
				t.Errorf("the machine is %s", state)
			}
		})
	}
}
