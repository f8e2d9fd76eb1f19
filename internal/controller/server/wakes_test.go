package server

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func TestWhatOfABMCWakesItsServers(t *testing.T) {
	before := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "b", Generation: 1}}
	before.Status.IP = "10.0.0.1"
	before.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionReady, Reason: metalv1.ReasonConnected}}
	for name, tc := range map[string]struct {
		change func(*metalv1.BMC)
		want   bool
	}{
		"what it says":       {func(b *metalv1.BMC) { b.Status.FirmwareVersion = "8" }, false},
		"a label":            {func(b *metalv1.BMC) { b.Labels = map[string]string{"a": "b"} }, false},
		"its spec":           {func(b *metalv1.BMC) { b.Generation = 2 }, true},
		"its address":        {func(b *metalv1.BMC) { b.Status.IP = "10.0.0.2" }, true},
		"why it is as it is": {func(b *metalv1.BMC) { b.Status.Conditions[0].Reason = "EndpointNotFound" }, true},
	} {
		after := before.DeepCopy()
		tc.change(after)
		if got := connectionChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
			t.Errorf("%s: woken %v", name, got)
		}
	}
	if !connectionChanged().Create(event.CreateEvent{Object: before}) || !connectionChanged().Delete(event.DeleteEvent{Object: before}) {
		t.Error("a BMC comes or goes, and nobody is woken")
	}
}

// TestAClaimThatIsDeletedBeforeItNamesItsServerWakesIt: the Server was taken, and nothing held the claim back yet. What was not booted is
// cleaned all the same.
func TestAClaimThatIsDeletedBeforeItNamesItsServerWakesIt(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		claim := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
		claim.Spec.Power, claim.Spec.Image = metalv1.PowerOn, "registry/os:1"
		s.Add(t, claim)
		if woken := s.ofClaim(t.Context(), claim); len(woken) != 0 {
			t.Errorf("a claim that has nothing wakes %v", woken)
		}
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationClaimedBy, string(claim.UID))
			o.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "c"}
			o.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "c"}
		})
		s.settle(t)
		s.is(t, metalv1.ServerStateReserved)
		s.Remove(t, claim)
		s.Add(t, &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: claim.Spec})
		if woken := s.ofClaim(t.Context(), claim); len(woken) != 1 || woken[0].Name != host {
			t.Errorf("its deletion wakes %v", woken)
		}
		s.pass(t, 10*time.Second)
		if server := s.is(t, metalv1.ServerStateAvailable); server.Spec.ServerClaimRef != nil || server.Annotations[metalv1.AnnotationClaimedBy] != "" {
			t.Errorf("a free server still belongs to somebody: %+v %v", server.Spec, server.Annotations)
		}
		if controllertest.Gone[corev1.ConfigMap](t, s.API, namespace+"/"+host+"-cleanup-"+string(claim.UID)) {
			t.Error("no cleanup is on record")
		}
		if got := count(s.hw.Resets(), " On"); got != 1 { // the probe
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
	})
}
