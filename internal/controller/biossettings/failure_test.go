package biossettings

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

func attempts(n int32) func(*metalv1.BIOSSettings) {
	return func(b *metalv1.BIOSSettings) { b.Spec.RetryPolicy = &metalv1.RetryPolicy{MaxAttempts: ptr.To(n)} }
}

// goesWrong injects a fault into the BMC, and returns how it is ended.
func (s *stand) goesWrong(t *testing.T, spec fault.Spec) (end func()) {
	t.Helper()
	spec.Share = 1
	e, err := s.rack.InjectFault(spec)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := s.rack.ClearFault(e.ID); err != nil {
			t.Error(err)
		}
	}
}

// running is how the power command of the present step stands.
func (s *stand) running(b *metalv1.BIOSSettings) bool {
	p := progressOf(b)
	if !p.active() {
		return false
	}
	v := view{obj: b, progress: p}
	status, _ := s.Fleet.Command(s.key, v.powerID())
	return status.State == fleet.Running
}

// failed checks what is left when all attempts have failed.
func (s *stand) failed(t *testing.T, reason string, times int32, says ...string) {
	t.Helper()
	b := s.settings(t)
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reason, says...)
	if b.Status.FailedAttempts != times || b.Status.ObservedGeneration != b.Generation {
		t.Errorf("%d attempts failed, want %d", b.Status.FailedAttempts, times)
	}
	if b.Spec.ServerMaintenanceRef != nil || !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "farrier-system/bios-b") {
		t.Error("the maintenance is there still")
	}
	s.until(t, "others are not kept off", func(*metalv1.BIOSSettings) bool {
		o, _ := s.Fleet.Observe(s.key)
		return o.LockedBy == ""
	})
}

// TestWritingFails: it is tried as often as the policy says, later each time, and then again when somebody asks for it.
func TestWritingFails(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	s.Add(t, wanted(attempts(1)))
	s.waits(t)
	end := s.goesWrong(t, fault.Spec{Kind: fault.Forbidden, Path: "/Bios/Settings$"})
	s.grants(t)
	b := s.until(t, "the first attempt has failed", func(b *metalv1.BIOSSettings) bool { return b.Status.FailedAttempts == 1 })
	controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonRetrying, "attempt 1 failed", "BIOS settings")
	if n := progressOf(b).NotBefore; b.Status.State != metalv1.BIOSSettingsStateInProgress || n == nil || n.Before(s.clock.Now().Add(firstRetry/2)) {
		t.Errorf("state %s, the next attempt not before %v", b.Status.State, n)
	}
	s.clock.forward(firstRetry)
	s.untilState(t, metalv1.BIOSSettingsStateFailed)
	s.failed(t, reasonWriteFailed, 2, "BIOS settings")
	s.Settle(t, s.Reconciler, "b") // and it stays so
	s.failed(t, reasonWriteFailed, 2, "after 2 attempts", metalv1.OperationRetry)

	end()
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) { o.Spec.ServerMaintenanceRef = nil })
	controllertest.Change(t, s.API, "b", func(b *metalv1.BIOSSettings) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationRetry)
	})
	s.grants(t)
	if b := s.untilState(t, metalv1.BIOSSettingsStateApplied); b.Status.FailedAttempts != 0 || b.Annotations[metalv1.AnnotationOperation] != "" {
		t.Errorf("%d attempts failed, operation %q", b.Status.FailedAttempts, b.Annotations[metalv1.AnnotationOperation])
	}
}

// TestTheMachineDoesNotGoOff: where nobody may force it, that is the end, and the server is given back.
func TestTheMachineDoesNotGoOff(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	s.EnforcePowerOff = false
	s.powerOn(t)
	s.goesWrong(t, fault.Spec{Kind: fault.IgnoreShutdown})
	s.Add(t, wanted())
	s.grants(t)
	s.until(t, "Failed", func(b *metalv1.BIOSSettings) bool {
		if s.running(b) {
			s.clock.forward(6 * time.Minute) // longer than the fleet's patience
		}
		return b.Status.State == metalv1.BIOSSettingsStateFailed
	})
	s.failed(t, reasonPowerFailed, 2, "PowerOff") // once to take the settings over, once to give the machine back
}

// TestALongSelfTestIsWaitedFor: for as long as firmware is given to take settings over, and not for ever.
func TestALongSelfTestIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	s.Add(t, wanted())
	s.waits(t)
	s.goesWrong(t, fault.Spec{Kind: fault.SlowPOST, Value: "3h"})
	s.grants(t)
	on := func(b *metalv1.BIOSSettings) bool { p := progressOf(b); return p != nil && p.Step == stepOn }
	s.until(t, "the machine is being started", func(b *metalv1.BIOSSettings) bool { return on(b) && s.running(b) })
	seen, _ := s.Fleet.Observe(s.key)
	s.clock.forward(verifyTimeout - 5*time.Minute)
	b := s.until(t, "looked at again", func(*metalv1.BIOSSettings) bool {
		now, _ := s.Fleet.Observe(s.key)
		return now.Systems[0].Seen.After(seen.Systems[0].Seen.Add(verifyTimeout / 2))
	})
	if !on(b) || b.Status.FailedAttempts != 0 {
		t.Fatalf("in the middle of its self test: step %s, %d attempts failed: %+v", progressOf(b).Step, b.Status.FailedAttempts, b.Status.Conditions)
	}
	s.until(t, "Failed", func(b *metalv1.BIOSSettings) bool {
		if on(b) && s.running(b) {
			s.clock.forward(time.Minute)
		}
		return b.Status.State == metalv1.BIOSSettingsStateFailed
	})
	s.failed(t, reasonPowerFailed, 1, "PowerOn")
}

// TestTheFirmwareDoesNotTakeThemOver: what is not so half an hour after the start is said by name, and the machine is switched off.
func TestTheFirmwareDoesNotTakeThemOver(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	s.Add(t, wanted())
	s.waits(t)
	// The BMC says that it switches the machine, and does not: its firmware never comes to take anything over.
	s.goesWrong(t, fault.Spec{Kind: fault.PowerLies})
	s.grants(t)
	s.until(t, "verifying", func(b *metalv1.BIOSSettings) bool { p := progressOf(b); return p != nil && p.Step == stepVerify })
	s.clock.forward(verifyTimeout)
	s.untilState(t, metalv1.BIOSSettingsStateFailed)
	s.failed(t, reasonNotVerified, 1, "BootRetryCount, SystemProfile", verifyTimeout.String())
	s.until(t, "off", func(*metalv1.BIOSSettings) bool {
		o, _ := s.Fleet.Observe(s.key)
		return len(o.Systems) == 1 && o.Systems[0].PowerState == bmc.PowerOff
	})
}

// powerOn has the machine run something before the settings come.
func (s *stand) powerOn(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for submitted := false; ; {
		o, _ := s.Fleet.Observe(s.key)
		if len(o.Systems) == 1 && o.Systems[0].PowerState == bmc.PowerOn {
			return
		}
		if len(o.Systems) == 1 && !submitted {
			if err := s.Fleet.Submit(s.key, fleet.Command{ID: "on", System: o.Systems[0].URI, Kind: fleet.PowerOn}); err != nil {
				t.Fatal(err)
			}
			submitted = true
		}
		if time.Now().After(deadline) {
			t.Fatalf("the machine does not go on: %+v", o)
		}
		select {
		case <-s.changed:
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TestAnotherSpecInTheMiddle is begun anew, with the machine as it stands.
func TestAnotherSpecInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newStand(t, sim.Standard)
	s.Add(t, wanted())
	s.grants(t)
	s.until(t, "under way", func(b *metalv1.BIOSSettings) bool {
		p := progressOf(b)
		return p.active() && p.Step != stepBegin && p.Step != stepWrite
	})
	controllertest.Change(t, s.API, "b", func(b *metalv1.BIOSSettings) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationAllowInProgressUpdate)
		b.Spec.SettingsFlow = []metalv1.SettingsFlowItem{{Name: "other", Priority: 1, Settings: map[string]string{"SystemProfile": "Balanced"}}}
	})
	b := s.untilState(t, metalv1.BIOSSettingsStateApplied)
	if names := flowNames(b); names != "other" || b.Status.ObservedGeneration != b.Generation {
		t.Errorf("applied is %q of generation %d", names, b.Status.ObservedGeneration)
	}
	if _, left := b.Annotations[metalv1.AnnotationOperation]; left {
		t.Error("what allowed the change is there still, and would allow the next")
	}
}

func flowNames(b *metalv1.BIOSSettings) string {
	var names []string
	for _, f := range b.Status.FlowState {
		names = append(names, f.Name)
	}
	return strings.Join(names, ",")
}
