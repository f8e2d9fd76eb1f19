package mcm

import (
	"context"
	"encoding/json"
	"testing"

	machinev1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	providerv1 "github.com/ironcore-dev/machine-controller-manager-provider-ironcore-metal/pkg/api/v1alpha1"
	mcmclient "github.com/ironcore-dev/machine-controller-manager-provider-ironcore-metal/pkg/client"
	"github.com/ironcore-dev/machine-controller-manager-provider-ironcore-metal/pkg/cmd"
	"github.com/ironcore-dev/machine-controller-manager-provider-ironcore-metal/pkg/metal"
	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/farrier-dev/farrier/test/clients/farrier"
	"github.com/farrier-dev/farrier/test/clients/objects"
)

// machine is what Gardener asks the driver for, in the forms that its calls want.
type machine struct {
	machine *machinev1.Machine
	class   *machinev1.MachineClass
	secret  *corev1.Secret
}

func machineOf(t *testing.T, name string, spec providerv1.ProviderSpec) machine {
	t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return machine{
		machine: &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: objects.Namespace, Name: name}},
		class: &machinev1.MachineClass{
			ObjectMeta:   metav1.ObjectMeta{Namespace: objects.Namespace, Name: "class"},
			Provider:     providerv1.ProviderName,
			ProviderSpec: runtime.RawExtension{Raw: raw},
			SecretRef:    &corev1.SecretReference{Namespace: objects.Namespace, Name: "class"},
		},
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: objects.Namespace, Name: "class"},
			Data:       map[string][]byte{"userData": []byte("#!/bin/sh\necho joined\n")},
		},
	}
}

func (m machine) create() *driver.CreateMachineRequest {
	return &driver.CreateMachineRequest{Machine: m.machine, MachineClass: m.class, Secret: m.secret}
}

func (m machine) initialize() *driver.InitializeMachineRequest {
	return &driver.InitializeMachineRequest{Machine: m.machine, MachineClass: m.class, Secret: m.secret}
}

func (m machine) status() *driver.GetMachineStatusRequest {
	return &driver.GetMachineStatusRequest{Machine: m.machine, MachineClass: m.class, Secret: m.secret}
}

func (m machine) delete() *driver.DeleteMachineRequest {
	return &driver.DeleteMachineRequest{Machine: m.machine, MachineClass: m.class, Secret: m.secret}
}

func driverOf(t *testing.T, f *farrier.Farrier, policy cmd.NodeNamePolicy) driver.Driver {
	t.Helper()
	clients, at, err := mcmclient.NewProviderAndNamespace(t.Context(), f.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if at != objects.Namespace {
		t.Fatalf("the kubeconfig is for the namespace %s", at)
	}
	return metal.NewDriver(clients, objects.Namespace, policy)
}

// code is what the machine controller reads from the driver's error.
func code(t *testing.T, err error) codes.Code {
	t.Helper()
	if err == nil {
		return codes.OK
	}
	told, ok := status.FromError(err)
	if !ok {
		t.Fatalf("the driver gives an error without a code: %v", err)
	}
	return told.Code()
}

// TestDriver takes one machine through its life: create, boot, maintenance that its owner approves, release.
func TestDriver(t *testing.T) {
	f := farrier.Up(t, 3)
	o := objects.Of(t, f)
	drive := driverOf(t, f, cmd.NodeNamePolicyServerClaimName)
	labels := map[string]string{"shoot-name": "blue"}
	worker := machineOf(t, "worker-1", providerv1.ProviderSpec{Image: f.Image, Labels: labels})
	const providerID = "ironcore-metal://" + objects.Namespace + "/worker-1"

	created, err := drive.CreateMachine(t.Context(), worker.create())
	if err != nil {
		t.Fatal(err)
	}
	if created.ProviderID != providerID || created.NodeName != "worker-1" {
		t.Errorf("created: %+v", created)
	}
	claim, server := o.Bound("worker-1")
	o.ServerIs(server.Name, metalv1.ServerStateReserved, metalv1.ServerOffPowerState)
	if claim.Labels["shoot-name"] != "blue" {
		t.Errorf("the claim's labels are %v", claim.Labels)
	}
	if _, err := drive.GetMachineStatus(t.Context(), worker.status()); code(t, err) != codes.Uninitialized {
		t.Errorf("the status of a machine that is off: %v", err)
	}

	if _, err := drive.InitializeMachine(t.Context(), worker.initialize()); err != nil {
		t.Fatal(err)
	}
	o.Booted("worker-1")
	o.ServerIs(server.Name, metalv1.ServerStateReserved, metalv1.ServerOnPowerState)
	runs := func() {
		t.Helper()
		told, err := drive.GetMachineStatus(t.Context(), worker.status())
		if err != nil {
			t.Fatal(err)
		}
		if told.ProviderID != providerID || told.NodeName != "worker-1" {
			t.Errorf("status: %+v", told)
		}
	}
	runs()
	list, err := drive.ListMachines(t.Context(), &driver.ListMachinesRequest{MachineClass: worker.class, Secret: worker.secret})
	if err != nil || len(list.MachineList) != 1 || list.MachineList[providerID] != "worker-1" {
		t.Errorf("list: %v, %v", list, err)
	}

	// cloud-provider-metal approves by the label that its version of metal-operator names.
	for _, approval := range []string{metalv1.ServerMaintenanceApprovedLabelKey, metalv1.ServerMaintenanceApprovalKey} {
		maintenance := o.Maintain(claim, server.Name, approval)
		o.ServerIs(server.Name, metalv1.ServerStateMaintenance, metalv1.ServerOffPowerState)
		runs() // the machine controller does not replace a machine that is in maintenance
		o.EndMaintenance(maintenance, claim, approval)
		o.ServerIs(server.Name, metalv1.ServerStateReserved, metalv1.ServerOnPowerState)
	}

	if _, err := drive.DeleteMachine(t.Context(), worker.delete()); err != nil {
		t.Fatal(err)
	}
	o.Released(server.Name)
	o.Gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: objects.Namespace, Name: "worker-1"}})
	if _, err := drive.GetMachineStatus(t.Context(), worker.status()); code(t, err) != codes.NotFound {
		t.Errorf("the status of a machine that is gone: %v", err)
	}
	if _, err := drive.DeleteMachine(t.Context(), worker.delete()); code(t, err) != codes.NotFound {
		t.Errorf("the deletion of a machine that is gone: %v", err)
	}
}

// TestNodeNames holds the policies by which nodes are called: the driver reads the names from the server that Farrier binds.
func TestNodeNames(t *testing.T) {
	f := farrier.Up(t, 2)
	for _, c := range []struct {
		policy cmd.NodeNamePolicy
		name   func(*metalv1.Server) string
	}{
		{cmd.NodeNamePolicyServerName, func(s *metalv1.Server) string { return s.Name }},
		{cmd.NodeNamePolicyBMCName, func(s *metalv1.Server) string { return s.Spec.BMCRef.Name }},
	} {
		t.Run(string(c.policy), func(t *testing.T) {
			o := objects.Of(t, f)
			drive := driverOf(t, f, c.policy)
			worker := machineOf(t, "worker", providerv1.ProviderSpec{Image: f.Image})
			var created *driver.CreateMachineResponse
			farrier.Eventually(t, "the driver names the node", func(ctx context.Context) (err error) {
				created, err = drive.CreateMachine(ctx, worker.create())
				if is := code(t, err); is != codes.OK && is != codes.Unavailable { // which has the machine controller try again
					t.Fatal(err)
				}
				return err
			})
			_, server := o.Bound("worker")
			if want := c.name(server); created.NodeName != want {
				t.Errorf("the node is called %s, want %s", created.NodeName, want)
			}
			if _, err := drive.DeleteMachine(t.Context(), worker.delete()); err != nil {
				t.Fatal(err)
			}
			o.Released(server.Name)
		})
	}
}
