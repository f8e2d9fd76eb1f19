package mcm

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/clients/farrier"
)

// namespace is that of the kubeconfig, in which the client works.
const namespace = "default"

// objects are Farrier's, read with the API of the metal-operator that the client was built for.
type objects struct {
	client.Client
	t *testing.T
}

func objectsOf(t *testing.T, f *farrier.Farrier) *objects {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), metalv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &objects{Client: c, t: t}
}

// bound waits until Farrier has given a claim its server.
func (o *objects) bound(name string) (*metalv1.ServerClaim, *metalv1.Server) {
	o.t.Helper()
	claim, server := &metalv1.ServerClaim{}, &metalv1.Server{}
	farrier.Eventually(o.t, "the claim "+name+" is bound", func(ctx context.Context) error {
		if err := o.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim); err != nil {
			return err
		}
		if claim.Status.Phase != metalv1.PhaseBound || claim.Spec.ServerRef == nil {
			return fmt.Errorf("it is %q with %v", claim.Status.Phase, claim.Spec.ServerRef)
		}
		if err := o.Get(ctx, client.ObjectKey{Name: claim.Spec.ServerRef.Name}, server); err != nil {
			return err
		}
		if ref := server.Spec.ServerClaimRef; ref == nil || ref.Namespace != namespace || ref.Name != name {
			return errors.New(describe(server))
		}
		return nil
	})
	return claim, server
}

func (o *objects) serverIs(name string, state metalv1.ServerState, power metalv1.ServerPowerState) {
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

// booted waits until the claim's machine has taken its script and all of its ignition.
func (o *objects) booted(claim string) {
	o.t.Helper()
	farrier.Eventually(o.t, "the machine of "+claim+" boots", func(ctx context.Context) error {
		configuration := &metalv1.ServerBootConfiguration{}
		if err := o.Get(ctx, client.ObjectKey{Namespace: namespace, Name: claim}, configuration); err != nil {
			return err
		}
		if configuration.Status.State != metalv1.ServerBootConfigurationStateReady {
			return fmt.Errorf("its boot configuration is %q: %v", configuration.Status.State, configuration.Status.Conditions)
		}
		config := &unstructured.Unstructured{}
		config.SetGroupVersionKind(schema.GroupVersionKind{Group: "boot.ironcore.dev", Version: "v1alpha1", Kind: "IPXEBootConfig"})
		if err := o.Get(ctx, client.ObjectKey{Namespace: namespace, Name: claim}, config); err != nil {
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

// maintain asks for the server of a claim, and approves in the name of the claim's owner when Farrier asks for that.
func (o *objects) maintain(claim *metalv1.ServerClaim, server string) *metalv1.ServerMaintenance {
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
	claim.Labels[metalv1.ServerMaintenanceApprovedLabelKey] = "true"
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

// endMaintenance ends it, and waits until Farrier needs the owner's word no more.
func (o *objects) endMaintenance(maintenance *metalv1.ServerMaintenance, claim *metalv1.ServerClaim) {
	o.t.Helper()
	if err := o.Delete(o.t.Context(), maintenance); err != nil {
		o.t.Fatal(err)
	}
	o.gone(maintenance)
	farrier.Eventually(o.t, "the claim is as before", func(ctx context.Context) error {
		if err := o.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		for _, label := range []string{metalv1.ServerMaintenanceNeededLabelKey, metalv1.ServerMaintenanceApprovedLabelKey} {
			if value, has := claim.Labels[label]; has {
				return fmt.Errorf("it has the label %s=%s", label, value)
			}
		}
		return nil
	})
}

// released waits until a server has been wiped and is for the next claim.
func (o *objects) released(server string) {
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

func (o *objects) gone(object client.Object) {
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
