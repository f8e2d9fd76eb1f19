package bootdelivery

import (
	"slices"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func (s *stand) setPower(t *testing.T, state metalv1.PowerState) *metalv1.Server {
	t.Helper()
	server := controllertest.Read[metalv1.Server](t, s.API, "s")
	before := server.DeepCopy()
	server.Status.PowerState = state
	if err := s.API.Status().Patch(t.Context(), server, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	return server
}

// power is what a Server's status says, and the event that it makes.
func (s *stand) power(t *testing.T, k bootmethod.Method, state metalv1.PowerState) {
	t.Helper()
	before := controllertest.Read[metalv1.Server](t, s.API, "s")
	s.whenOff(k).Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: s.setPower(t, state)}, s.queues[k.Kind])
}

// alone is a boot config that somebody wrote for the machine of a Server, which refers to nothing.
func alone() []client.Object {
	server := ours(func(o *metalv1.Server, _ *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
		o.Spec.BootConfigurationRef = nil
	})[0]
	return []client.Object{server, handWritten("c")}
}

// TestDeliveriesOfEachBootWithoutAttempts: of boots that somebody else orders, or nobody at all, each one's deliveries are
// said once, and taken back when the machine has been off.
func TestDeliveriesOfEachBootWithoutAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		objects []client.Object
		foreign bool
	}{
		"another lifecycle's boot configuration": {ours(), true},
		"written by hand":                        {alone(), false},
		"written by hand, another lifecycle":     {alone(), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, c.objects...)
			s.ForeignLifecycle = c.foreign
			s.Settle(t, s.ipxe, "ns/c")
			conditions := func() []metav1.Condition { return s.readIPXE(t, "ns/c").Status.Conditions }
			var last metav1.Time
			for boot := range 3 {
				at := controllertest.Start.Add(time.Duration(boot+1) * time.Hour)
				s.power(t, s.ipxe.method, metalv1.PowerStatePoweringOn)
				for range 2 { // a machine that asks twice has not booted twice
					d := fetched(bootview.DeliveredScript, "", "10.0.0.7")
					d.Time = at
					s.Delivered(d)
				}
				s.Settle(t, s.ipxe, "ns/c")
				controllertest.Says(t, conditions(), bootv1.ConditionIPXEScriptFetched, metav1.ConditionTrue, "Delivered", "10.0.0.7")
				s.ForgetWrites()
				s.power(t, s.ipxe.method, metalv1.PowerStateOn)
				s.Delivered(fetched(bootview.DeliveredScript, "", "10.0.0.8"))
				s.Settle(t, s.ipxe, "ns/c")
				if w := s.Writes("IPXEBootConfig"); len(w) != 0 {
					t.Errorf("boot %d: written for the second time: %v", boot, w)
				}
				is := apimeta.FindStatusCondition(conditions(), bootv1.ConditionIPXEScriptFetched)
				if !is.LastTransitionTime.After(last.Time) {
					t.Errorf("boot %d: since %s, the one before since %s", boot, is.LastTransitionTime, last)
				}
				last = is.LastTransitionTime
				s.woken(bootmethod.IPXE.Kind)
				s.power(t, s.ipxe.method, metalv1.PowerStateOff)
				if got := s.woken(bootmethod.IPXE.Kind); !slices.Contains(got, "ns/c") {
					t.Errorf("boot %d: woken by power off: %v", boot, got)
				}
				s.Settle(t, s.ipxe, "ns/c")
				controllertest.Says(t, conditions(), bootv1.ConditionIPXEScriptFetched, metav1.ConditionFalse, "BootOrdered")
			}
		})
	}
}

// TestAFetchBetweenTwoLooksIsOfTheNextBoot: off, on and the first fetch may all come before status is written.
func TestAFetchBetweenTwoLooksIsOfTheNextBoot(t *testing.T) {
	s := newStand(t, ours()...)
	s.ForeignLifecycle = true
	s.Delivered(fetched(bootview.DeliveredScript, "", "10.0.0.7"))
	s.Settle(t, s.ipxe, "ns/c")
	first := apimeta.FindStatusCondition(s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionIPXEScriptFetched)
	s.power(t, s.ipxe.method, metalv1.PowerStateOff)
	d := fetched(bootview.DeliveredScript, "", "10.0.0.9")
	d.Time = d.Time.Add(time.Hour)
	s.Delivered(d)
	s.ForgetWrites()
	s.Settle(t, s.ipxe, "ns/c")
	is := apimeta.FindStatusCondition(s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionIPXEScriptFetched)
	if is.Status != metav1.ConditionTrue || !is.LastTransitionTime.After(first.LastTransitionTime.Time) || len(s.Writes("IPXEBootConfig")) != 1 {
		t.Errorf("%+v by %v, the first %+v", is, s.Writes(""), first)
	}
}

// TestOurOwnAttemptsAreNotEndedByPower: a machine is off in the middle of a boot that was ordered from cold.
func TestOurOwnAttemptsAreNotEndedByPower(t *testing.T) {
	s := newStand(t, ours(ordered("a"))...)
	s.Delivered(fetched(bootview.DeliveredScript, "a", "10.0.0.7"))
	s.Settle(t, s.ipxe, "ns/c")
	s.ForgetWrites()
	s.power(t, s.ipxe.method, metalv1.PowerStateOff)
	s.Settle(t, s.ipxe, "ns/c")
	if w := s.Writes("IPXEBootConfig"); len(w) != 0 {
		t.Errorf("written: %v", w)
	}
}

// TestWhoChangesAHandWrittenConfigOrdersABoot: there is no other way to.
func TestWhoChangesAHandWrittenConfigOrdersABoot(t *testing.T) {
	c := &bootv1.HTTPBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "h", Generation: 1}}
	c.Spec.SystemUUID, c.Spec.UKIURL = uuid, bootURL+"/httpboot/x.efi"
	s := newStand(t, c)
	fetch := func() {
		d := fetched(bootview.DeliveredUKI, "", "10.0.0.7")
		d.Entry = "HTTPBootConfig/ns/h"
		s.Delivered(d)
		s.Settle(t, s.http, "ns/h")
	}
	says := func(status metav1.ConditionStatus, reason string) {
		t.Helper()
		controllertest.Says(t, controllertest.Read[bootv1.HTTPBootConfig](t, s.API, "ns/h").Status.Conditions, bootv1.ConditionUKIFetched, status, reason)
	}
	s.Settle(t, s.http, "ns/h")
	for range 2 {
		fetch()
		says(metav1.ConditionTrue, "Delivered")
		controllertest.Change(t, s.API, "ns/h", func(h *bootv1.HTTPBootConfig) {
			h.Spec.UKIURL += "?"
			h.Generation++
		})
		s.Settle(t, s.http, "ns/h")
		says(metav1.ConditionFalse, "BootOrdered")
	}
	s.notes.init() // a restart
	fetch()
	says(metav1.ConditionTrue, "Delivered")
}

// TestAMachineThatIsOffAtTheStart: its conditions are of a boot that ended while nobody looked.
func TestAMachineThatIsOffAtTheStart(t *testing.T) {
	s := newStand(t, ours()...)
	s.ForeignLifecycle = true
	s.Delivered(fetched(bootview.DeliveredScript, "", "10.0.0.7"))
	s.Settle(t, s.ipxe, "ns/c")
	for _, c := range []struct {
		state  metalv1.PowerState
		status metav1.ConditionStatus
		reason string
	}{{metalv1.PowerStateOn, metav1.ConditionTrue, "Delivered"}, {metalv1.PowerStateOff, metav1.ConditionFalse, "BootOrdered"}} {
		s.notes.init()
		s.whenOff(s.ipxe.method).Create(t.Context(), event.CreateEvent{Object: s.setPower(t, c.state)}, s.queues[bootmethod.IPXE.Kind])
		s.Settle(t, s.ipxe, "ns/c")
		controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, bootv1.ConditionIPXEScriptFetched, c.status, c.reason)
	}
	if len(s.notes.ended) != 0 {
		t.Errorf("kept in memory: %v", s.notes.ended)
	}
}
