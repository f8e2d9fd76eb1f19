package mcm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	machinev1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	providerv1 "github.com/ironcore-dev/machine-controller-manager-provider-ironcore-metal/pkg/api/v1alpha1"
	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/clients/farrier"
	"github.com/farrier-dev/farrier/test/clients/objects"
)

// controller is the package of the program.
const controller = "github.com/ironcore-dev/machine-controller-manager-provider-ironcore-metal/cmd/machine-controller"

// TestMachineController runs the program as Gardener does, with Farrier as the cluster of Machines and as the cluster of
// servers. It has no target cluster: `farrier up` has no Nodes.
func TestMachineController(t *testing.T) {
	f := farrier.Up(t, 1)
	o := objects.Of(t, f, machinev1.AddToScheme)
	o.Define(filepath.Join(farrier.Module(t, "github.com/gardener/machine-controller-manager"), "kubernetes/crds/*.yaml"))
	worker := machineOf(t, "worker-1", providerv1.ProviderSpec{
		Image: f.Image, Labels: map[string]string{"shoot-name": "blue"}, Metadata: map[string]any{"rack": "r1"},
	})
	worker.machine.Spec.Class = machinev1.ClassSpec{Kind: "MachineClass", Name: worker.class.Name}
	for _, object := range []client.Object{worker.secret, worker.class, worker.machine} {
		if err := o.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}

	pid := os.Getpid()
	address := fmt.Sprintf("127.83.%d.%d", pid>>8&0xff, pid&0xff) // the program takes no port 0: its port is free at an address of its own
	farrier.Start(t, "machine-controller", farrier.Build(t, controller), "--v=3", "--address", address,
		"--metal-kubeconfig", f.Kubeconfig, "--control-kubeconfig", f.Kubeconfig, "--target-kubeconfig", "none",
		"--namespace", objects.Namespace)

	_, server := o.Bound("worker-1")
	o.Booted("worker-1")
	o.ServerIs(server.Name, metalv1.ServerStateReserved, metalv1.ServerOnPowerState)
	farrier.Eventually(t, "the Machine is available", func(ctx context.Context) error {
		machine := &machinev1.Machine{}
		if err := o.Get(ctx, client.ObjectKeyFromObject(worker.machine), machine); err != nil {
			return err
		}
		if machine.Status.CurrentStatus.Phase != machinev1.MachineAvailable || machine.Spec.ProviderID != "ironcore-metal://default/worker-1" {
			return fmt.Errorf("it is %q as %q: %s", machine.Status.CurrentStatus.Phase, machine.Spec.ProviderID, machine.Status.LastOperation.Description)
		}
		return nil
	})

	if err := o.Delete(t.Context(), worker.machine, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	o.Released(server.Name)
	o.Gone(worker.machine)
}
