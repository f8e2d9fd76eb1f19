package connection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Other installations make an Endpoint the owner of its BMC and of that BMC's BMCSecret, and a BMC the owner of its Servers. The garbage
// collector then deletes a machine together with its BMC, and with the BMCSecret a password that nobody else has. So these references are
// taken away before anything else is done to an object. Any other reference stays, such as one from a BMCSecret to its BMC: who set it means it,
// and would set it again.

// StripOwners takes the owner references of a kind of this group away. It reports whether there was one.
func StripOwners(obj client.Object, kind string) bool {
	kept := slices.DeleteFunc(slices.Clone(obj.GetOwnerReferences()), func(o metav1.OwnerReference) bool {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		return o.Kind == kind && group == metalv1.GroupName
	})
	if len(kept) == len(obj.GetOwnerReferences()) {
		return false
	}
	obj.SetOwnerReferences(kept)
	return true
}

// DisownSecret strips the Endpoints that own a BMCSecret, if there is one of that name: a password is not to end with an address. It looks
// at metadata alone, which caches hold.
func DisownSecret(ctx context.Context, c client.Client, name string) error {
	if name == "" {
		return nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(metalv1.GroupVersion.WithKind("BMCSecret"))
	if err := c.Get(ctx, client.ObjectKey{Name: name}, secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	return Disown(ctx, c, secret, "Endpoint")
}

// Disown strips the owners of a kind of an object that is as the API has it, and writes that, if there were any.
func Disown(ctx context.Context, c client.Client, obj client.Object, kind string) error {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok || !StripOwners(obj, kind) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, obj, patch, client.FieldOwner(metalv1.FieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the owner references of %q: %w", obj.GetName(), err)
	}
	return nil
}
