package server

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
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
