package objects

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/clients/farrier"
)

// Namespace is that of Farrier's kubeconfig, in which clients work.
const Namespace = "default"

// Objects are those of one Farrier.
type Objects struct {
	client.Client
	t *testing.T
}

// Of are the objects of a Farrier, with the kinds of Kubernetes and of metal-operator and those that the test adds.
func Of(t *testing.T, f *farrier.Farrier, kinds ...func(*runtime.Scheme) error) *Objects {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	scheme := runtime.NewScheme()
	for _, add := range append(kinds, clientgoscheme.AddToScheme, metalv1.AddToScheme, apiextensionsv1.AddToScheme) {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &Objects{Client: c, t: t}
}

// Bound waits until Farrier has given a claim its server.
func (o *Objects) Bound(name string) (*metalv1.ServerClaim, *metalv1.Server) {
	o.t.Helper()
	claim, server := &metalv1.ServerClaim{}, &metalv1.Server{}
	farrier.Eventually(o.t, "the claim "+name+" is bound", func(ctx context.Context) error {
		if err := o.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, claim); err != nil {
			return err
		}
		if claim.Status.Phase != metalv1.PhaseBound || claim.Spec.ServerRef == nil {
			return fmt.Errorf("it is %q with %v", claim.Status.Phase, claim.Spec.ServerRef)
		}
		if err := o.Get(ctx, client.ObjectKey{Name: claim.Spec.ServerRef.Name}, server); err != nil {
			return err
		}
		if ref := server.Spec.ServerClaimRef; ref == nil || ref.Namespace != Namespace || ref.Name != name {
			return errors.New(describe(server))
		}
		return nil
	})
	return claim, server
}

// ServerIs waits until a server has a state and a power state.
func (o *Objects) ServerIs(name string, state metalv1.ServerState, power metalv1.ServerPowerState) {
	o.t.Helper()
	farrier.Eventually(o.t, fmt.Sprintf("%s is %s and %s", name, state, power), func(ctx context.Context) error {
		server := &metalv1.Server{}
		if err := o.Get(ctx, client.ObjectKey{Name: name}, server); err != nil {
			return err
		}
		if server.Status.State != state || server.Status.PowerState != power {
			return errors.New(describe(server))
		}
		return nil
	})
}

// Booted waits until the claim's machine has taken its script and all of its ignition.
func (o *Objects) Booted(claim string) {
	o.t.Helper()
	farrier.Eventually(o.t, "the machine of "+claim+" boots", func(ctx context.Context) error {
		configuration := &metalv1.ServerBootConfiguration{}
		if err := o.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: claim}, configuration); err != nil {
			return err
		}
		if configuration.Status.State != metalv1.ServerBootConfigurationStateReady {
			return fmt.Errorf("its boot configuration is %q: %v", configuration.Status.State, configuration.Status.Conditions)
		}
		config := &unstructured.Unstructured{}
		config.SetGroupVersionKind(schema.GroupVersionKind{Group: "boot.ironcore.dev", Version: "v1alpha1", Kind: "IPXEBootConfig"})
		if err := o.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: claim}, config); err != nil {
			return err
		}
		return delivered(config, "IPXEScriptDelivered", "IgnitionDataDelivered")
	})
}

// delivered returns an error unless conditions are true.
func delivered(config *unstructured.Unstructured, wanted ...string) error {
	told, _, err := unstructured.NestedSlice(config.Object, "status", "conditions")
	if err != nil {
		return err
	}
	statuses := map[any]any{}
	for _, condition := range told {
		if c, ok := condition.(map[string]any); ok {
			statuses[c["type"]] = c["status"]
		}
	}
	for _, name := range wanted {
		if statuses[name] != "True" {
			return fmt.Errorf("%s is %v", name, statuses[name])
		}
	}
	return nil
}

// Maintain asks for the server of a claim, and approves by the label of the claim when Farrier asks its owner.
func (o *Objects) Maintain(claim *metalv1.ServerClaim, server, approval string) *metalv1.ServerMaintenance {
	o.t.Helper()
	maintenance := &metalv1.ServerMaintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name},
		Spec: metalv1.ServerMaintenanceSpec{
			Policy: metalv1.ServerMaintenancePolicyOwnerApproval, Priority: 100, ServerPower: metalv1.PowerOff,
			ServerRef: &corev1.LocalObjectReference{Name: server},
		},
	}
	if err := o.Create(o.t.Context(), maintenance); err != nil {
		o.t.Fatal(err)
	}
	farrier.Eventually(o.t, "Farrier asks the owner", func(ctx context.Context) error {
		if err := o.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Labels[metalv1.ServerMaintenanceNeededLabelKey] != "true" {
			return fmt.Errorf("the claim's labels are %v", claim.Labels)
		}
		return nil
	})
	base := claim.DeepCopy()
	claim.Labels[approval] = "true"
	if err := o.Patch(o.t.Context(), claim, client.MergeFrom(base)); err != nil {
		o.t.Fatal(err)
	}
	farrier.Eventually(o.t, "the maintenance begins", func(ctx context.Context) error {
		if err := o.Get(ctx, client.ObjectKeyFromObject(maintenance), maintenance); err != nil {
			return err
		}
		if maintenance.Status.State != metalv1.ServerMaintenanceStateInMaintenance {
			return fmt.Errorf("it is %q", maintenance.Status.State)
		}
		return nil
	})
	return maintenance
}

// EndMaintenance ends it, and waits until Farrier has taken the labels of both sides off the claim.
func (o *Objects) EndMaintenance(maintenance *metalv1.ServerMaintenance, claim *metalv1.ServerClaim, approval string) {
	o.t.Helper()
	if err := o.Delete(o.t.Context(), maintenance); err != nil {
		o.t.Fatal(err)
	}
	o.Gone(maintenance)
	farrier.Eventually(o.t, "the claim is as before", func(ctx context.Context) error {
		if err := o.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		for _, label := range []string{metalv1.ServerMaintenanceNeededLabelKey, approval} {
			if value, has := claim.Labels[label]; has {
				return fmt.Errorf("it has the label %s=%s", label, value)
			}
		}
		return nil
	})
}

// Released waits until a server has been wiped and is for the next claim.
func (o *Objects) Released(server string) {
	o.t.Helper()
	farrier.Eventually(o.t, server+" is available again", func(ctx context.Context) error {
		s := &metalv1.Server{}
		if err := o.Get(ctx, client.ObjectKey{Name: server}, s); err != nil {
			return err
		}
		if s.Status.State != metalv1.ServerStateAvailable || s.Spec.ServerClaimRef != nil || s.Status.PowerState != metalv1.ServerOffPowerState {
			return errors.New(describe(s))
		}
		return nil
	})
}

// Gone waits until an object is no more.
func (o *Objects) Gone(object client.Object) {
	o.t.Helper()
	farrier.Eventually(o.t, object.GetName()+" is gone", func(ctx context.Context) error {
		switch err := o.Get(ctx, client.ObjectKeyFromObject(object), object); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("it is still there")
	})
}

// describe is a server's name and what a test wants to know of it.
func describe(server *metalv1.Server) string {
	return fmt.Sprintf("%s is %s, power %s, claim %v", server.Name, server.Status.State, server.Status.PowerState, server.Spec.ServerClaimRef)
}

// Available waits until a server is for the next claim, and returns its name.
func (o *Objects) Available() string {
	o.t.Helper()
	name := ""
	farrier.Eventually(o.t, "a server is available", func(ctx context.Context) error {
		servers := &metalv1.ServerList{}
		if err := o.List(ctx, servers); err != nil {
			return err
		}
		for i := range servers.Items {
			if servers.Items[i].Status.State == metalv1.ServerStateAvailable {
				name = servers.Items[i].Name
				return nil
			}
		}
		return fmt.Errorf("none of %d", len(servers.Items))
	})
	return name
}
