package metal

import (
	"testing"

	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	applyv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/clients/farrier"
	"github.com/farrier-dev/farrier/test/clients/objects"
)

// TestApply takes a server through its life with the apply configurations: create, boot, power, maintenance, release.
func TestApply(t *testing.T) {
	f := farrier.Up(t, 3)
	o := objects.Of(t, f)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: objects.Namespace, Name: "ignition-web"},
		Data:       map[string][]byte{"ignition": []byte(`{"ignition":{"version":"3.3.0"}}`)},
	}
	if err := o.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	apply := func(power metalv1.Power) {
		t.Helper()
		claim := applyv1.ServerClaim("web", objects.Namespace).WithLabels(map[string]string{"cluster": "blue"}).
			WithSpec(applyv1.ServerClaimSpec().WithPower(power).WithImage(f.Image).
				WithIgnitionSecretRef(corev1.LocalObjectReference{Name: secret.Name}))
		if err := o.Apply(t.Context(), claim, client.FieldOwner("a-client"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	apply(metalv1.PowerOn)
	claim, server := o.Bound("web")
	o.Booted("web")
	o.ServerIs(server.Name, metalv1.ServerStateReserved, metalv1.ServerOnPowerState)

	apply(metalv1.PowerOff) // and so Farrier's own fields stay: the claim keeps its server
	o.ServerIs(server.Name, metalv1.ServerStateReserved, metalv1.ServerOffPowerState)
	apply(metalv1.PowerOn)
	o.ServerIs(server.Name, metalv1.ServerStateReserved, metalv1.ServerOnPowerState)
	if _, still := o.Bound("web"); still.Name != server.Name {
		t.Errorf("the claim went from %s to %s", server.Name, still.Name)
	}

	maintenance := o.Maintain(claim, server.Name, metalv1.ServerMaintenanceApprovedLabelKey)
	o.ServerIs(server.Name, metalv1.ServerStateMaintenance, metalv1.ServerOffPowerState)
	o.EndMaintenance(maintenance, claim, metalv1.ServerMaintenanceApprovedLabelKey)
	o.ServerIs(server.Name, metalv1.ServerStateReserved, metalv1.ServerOnPowerState)

	if err := o.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	o.Released(server.Name)
	o.Gone(claim)
}
