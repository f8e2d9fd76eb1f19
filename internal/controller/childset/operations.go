package childset

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// operate does what the annotation of a Set asks for, and removes it when that is done. It reports whether it wrote to the Set, which wakes it
// again. What stands as long as the annotation does is part of the decisions about targets (decide.go).
func (r *Sets) operate(ctx context.Context, s *set, children []client.Object) (bool, error) {
	_, asked := metalv1.OperationOf(s.Object)
	if !asked {
		return false, nil
	}
	known := true
	switch s.operation {
	case metalv1.OperationIgnore, metalv1.OperationIgnorePropagated, metalv1.OperationIgnoreChild, metalv1.OperationIgnoreChildAndSelf, metalv1.OperationAllowInProgressDelete:
		return false, nil
	case metalv1.OperationAllowInProgressUpdate:
		for _, child := range children {
			if r.Kind.stateOf(child) == inProgress {
				return false, nil
			}
		}
	case metalv1.OperationRetryChild, metalv1.OperationRetryChildAndSelf:
		if err := r.retry(ctx, children); err != nil {
			return true, err
		}
	case metalv1.OperationRetry, metalv1.OperationRetryPropagated:
		// A Set fails in nothing by itself: it is looked at again, as it is after every write.
	default:
		known = false
	}
	operation := s.operation
	r.count(s.GetName(), r.Clock.Now().Add(-countEvery))
	if err := r.patch(ctx, s, func() { s.SetAnnotations(operated(s.Object, "").GetAnnotations()) }); err != nil {
		return true, err
	}
	if !known {
		r.event(s, metalv1.ReasonUnsupportedOperation, fmt.Sprintf("Operation %.64q is not supported on %s", operation, r.Kind.Name))
	}
	return true, nil
}

// retry has the children try again that have failed. Who asks for something else at a child goes first.
func (r *Sets) retry(ctx context.Context, children []client.Object) error {
	for _, child := range children {
		if _, asked := metalv1.OperationOf(child); asked || deleting(child) || r.Kind.stateOf(child) != failed {
			continue
		}
		patch := client.MergeFromWithOptions(child, client.MergeFromWithOptimisticLock{})
		to := operated(child, metalv1.OperationRetryPropagated)
		if err := r.Patch(ctx, to, patch, client.FieldOwner(metalv1.FieldManager)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("have %s %q tried again: %w", r.Kind.Child, child.GetName(), err)
		}
	}
	return nil
}
