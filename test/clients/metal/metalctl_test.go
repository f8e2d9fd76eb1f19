package metal

import (
	"context"
	"fmt"
	"os/exec"
	"testing"

	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/clients/farrier"
	"github.com/farrier-dev/farrier/test/clients/objects"
)

// TestCordon: metalctl keeps claims away from a server, and lets them in again.
func TestCordon(t *testing.T) {
	f := farrier.Up(t, 1)
	o := objects.Of(t, f)
	program := farrier.Build(t, "github.com/ironcore-dev/metal-operator/cmd/metalctl")
	metalctl := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, append(args, "--kubeconfig", f.Kubeconfig)...)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("metalctl %v: %v\n%s", args, err, output)
		}
	}
	server := o.Available()
	metalctl("cordon", server)
	claim := &metalv1.ServerClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: objects.Namespace, Name: "web"},
		Spec:       metalv1.ServerClaimSpec{Power: metalv1.PowerOff, Image: f.Image, ServerRef: &corev1.LocalObjectReference{Name: server}},
	}
	if err := o.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	farrier.Eventually(t, "the claim is told to wait", func(ctx context.Context) error {
		if err := o.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Status.Phase != metalv1.PhaseUnbound {
			return fmt.Errorf("it is %q", claim.Status.Phase)
		}
		return nil
	})
	metalctl("uncordon", server)
	if _, bound := o.Bound("web"); bound.Name != server {
		t.Errorf("bound to %s", bound.Name)
	}
	if err := o.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	o.Released(server)
}
