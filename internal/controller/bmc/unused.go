package bmc

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
)

// findUnused looks, where a BMC refuses its password, for one that a rotation has given it and that its spec does not name: whoever keeps the BMC in a
// repository has put the BMCSecret of before back.
func (r *Reconciler) findUnused(ctx context.Context, s *scope) error {
	if bmc.KindOf(s.observation.Err) != bmc.KindAuthentication {
		return nil
	}
	for n := 1; n <= maxNames; n++ {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(metalv1.GroupVersion.WithKind("BMCSecret"))
		err := r.Get(ctx, client.ObjectKey{Name: credentialsName(s.obj, n)}, secret)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("BMCSecret %q: %w", credentialsName(s.obj, n), err)
		}
		made := secret.Annotations[metalv1.AnnotationCredentialsOf] == string(s.obj.UID)
		if err == nil && made && secret.Name != s.obj.Spec.BMCSecretRef.Name {
			s.unused = secret.Name // the last of them is the newest
		}
	}
	return nil
}

// hint says what was found, after a sentence; empty: nothing.
func (s *scope) hint() string {
	if s.unused == "" {
		return ""
	}
	return fmt.Sprintf(". Farrier made BMCSecret %q for this BMC when it rotated its password. Name it in spec.bmcSecretRef instead of %q", s.unused, s.obj.Spec.BMCSecretRef.Name)
}
