package claim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestWhatTheMachineDoesIsTold of the claim: each step once in a boot attempt, however often the claim is looked at, and by one process.
func TestWhatTheMachineDoesIsTold(t *testing.T) {
	api := controllertest.NewAPI(t, newClaim("c"), free("s"))
	controllertest.ChangeStatus(t, api, "s", becomesFree)
	r := newReconciler(api)
	api.Settle(t, r, "ns/c")
	r.hears()
	says := func(what string, change func(*metalv1.ServerBootConfigurationStatus), events ...string) {
		t.Helper()
		controllertest.ChangeStatus(t, api, "ns/c", func(b *metalv1.ServerBootConfiguration) { change(&b.Status) })
		for range 3 {
			api.Settle(t, r, "ns/c")
		}
		other := newReconciler(api)
		if api.Settle(t, other, "ns/c"); len(other.hears()) > 0 {
			t.Errorf("%s: another process repeats it", what)
		}
		if diff := cmp.Diff(events, r.hears()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	condition := func(s *metalv1.ServerBootConfigurationStatus, kind string, status metav1.ConditionStatus, reason, message string) {
		apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
	fetched := func(kinds ...string) func(*metalv1.ServerBootConfigurationStatus) {
		return func(s *metalv1.ServerBootConfigurationStatus) {
			for _, kind := range kinds {
				condition(s, kind, metav1.ConditionTrue, "Delivered", "Delivered to 192.0.2.7")
			}
		}
	}
	says("ordered", func(s *metalv1.ServerBootConfigurationStatus) {
		s.DeliveryAttempt = "a1"
		condition(s, bootv1.ConditionIPXEScriptFetched, metav1.ConditionFalse, "BootOrdered", "")
	})
	says("script and kernel", fetched(bootv1.ConditionIPXEScriptFetched, bootv1.ConditionKernelFetched),
		"ServerClaim c: Normal IPXEScriptFetched Delivered to 192.0.2.7")
	says("ignition", fetched(bootv1.ConditionIgnitionDataFetched), "ServerClaim c: Normal IgnitionDataFetched Delivered to 192.0.2.7")
	says("booted", func(s *metalv1.ServerBootConfigurationStatus) {
		s.BootStateAttempt = "a1"
		condition(s, metalv1.ConditionBootStateReceived, metav1.ConditionTrue, "Booted", "It has booted")
	}, "ServerClaim c: Normal Booted It has booted")
	says("another boot", func(s *metalv1.ServerBootConfigurationStatus) { s.DeliveryAttempt = "a2" },
		"ServerClaim c: Normal IPXEScriptFetched Delivered to 192.0.2.7", "ServerClaim c: Normal IgnitionDataFetched Delivered to 192.0.2.7")
	says("not booted", func(s *metalv1.ServerBootConfigurationStatus) {
		s.BootStateAttempt = "a2"
		condition(s, metalv1.ConditionBootStateReceived, metav1.ConditionFalse, reasonNotBooted, "It has not booted")
	}, "ServerClaim c: Warning NotBooted It has not booted")
}
