package bootconfig

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// pullSecret reads the Secret that a boot configuration names for its image, from its own namespace. What is
// wrong with it is said in words; only the API's failures are errors.
func (r *Reconciler) pullSecret(ctx context.Context, config *metalv1.ServerBootConfiguration) (secret *corev1.Secret, problem string, err error) {
	name := config.Annotations[metalv1.AnnotationImagePullSecret]
	if name == "" {
		return nil, "", nil
	}
	where := fmt.Sprintf("metadata.annotations[%s]: Secret %s/%s", metalv1.AnnotationImagePullSecret, config.Namespace, name)
	secret = &corev1.Secret{}
	err = r.APIReader.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, where + " does not exist", nil
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w", where, err)
	case len(secret.Data[corev1.DockerConfigJsonKey]) == 0:
		return nil, fmt.Sprintf("%s has no key %s", where, corev1.DockerConfigJsonKey), nil
	}
	return secret, "", nil
}

// pullSecretOf is the content of a pull secret, nil where there is none.
func pullSecretOf(secret *corev1.Secret) []byte {
	if secret == nil {
		return nil
	}
	return secret.Data[corev1.DockerConfigJsonKey]
}

// withPullSecret finds the boot configurations that name a Secret for their image.
func (r *Reconciler) withPullSecret(ctx context.Context, obj client.Object) []reconcile.Request {
	return index.Requests(ctx, r, &metalv1.ServerBootConfigurationList{}, client.InNamespace(obj.GetNamespace()),
		client.MatchingFields{index.BootConfigByPullSecret: obj.GetName()})
}
