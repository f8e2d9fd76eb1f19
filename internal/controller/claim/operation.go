package claim

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// dropOperation removes an operation with an event: claims have none. It reports whether there was one; the write triggers the claim
// again.
func (r *Reconciler) dropOperation(ctx context.Context, obj *metalv1.ServerClaim) (bool, error) {
	operation, asked := metalv1.OperationOf(obj)
	if !asked {
		return false, nil
	}
	before := obj.DeepCopy()
	delete(obj.Annotations, metalv1.AnnotationOperation)
	if err := r.patch(ctx, obj, before); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	r.event(obj, nil, corev1.EventTypeWarning, metalv1.ReasonUnsupportedOperation, "Operation %.64q is not supported on a ServerClaim", operation)
	return true, nil
}
