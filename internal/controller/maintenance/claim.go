package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/turn"
)

// askOwner tells the owner of the claim that a maintenance is needed, and why, by a label and an annotation
// of the claim. Both stand until the last maintenance that needs the owner has ended, and the
// owner's approval goes with them: it was for those, and not for whatever comes later. Every maintenance
// of the server comes to the same answer, so it does not matter which one writes it.
func (r *Reconciler) askOwner(ctx context.Context, claim *metalv1.ServerClaim, rivals []metalv1.ServerMaintenance) error {
	if claim == nil {
		return nil
	}
	wanted := claim.DeepCopy()
	if asking := askedFor(rivals); asking != nil {
		metav1.SetMetaDataLabel(&wanted.ObjectMeta, metalv1.LabelMaintenanceNeeded, metalv1.AnnotationTrue)
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, metalv1.AnnotationMaintenanceReason, reasonOf(asking))
	} else if _, asked := claim.Labels[metalv1.LabelMaintenanceNeeded]; asked {
		delete(wanted.Labels, metalv1.LabelMaintenanceNeeded)
		delete(wanted.Annotations, metalv1.AnnotationMaintenanceReason)
		turn.Forget(wanted)
	}
	if maps.Equal(claim.Labels, wanted.Labels) && maps.Equal(claim.Annotations, wanted.Annotations) {
		return nil
	}
	patch := client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, wanted, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("announce the maintenance on ServerClaim %s/%s: %w", claim.Namespace, claim.Name, err))
	}
	return nil
}

// askedFor is the first of those that the owner is asked for.
func askedFor(rivals []metalv1.ServerMaintenance) *metalv1.ServerMaintenance {
	asking := slices.DeleteFunc(slices.Clone(rivals), func(m metalv1.ServerMaintenance) bool { return !turn.NeedsApproval(&m) })
	if len(asking) == 0 {
		return nil
	}
	slices.SortFunc(asking, func(a, b metalv1.ServerMaintenance) int { return turn.Before(&a, &b) })
	return &asking[0]
}

// reasonOf is why a maintenance is needed, in the words of whoever asked for it.
func reasonOf(obj *metalv1.ServerMaintenance) string {
	return cmp.Or(obj.Annotations[metalv1.AnnotationReason], obj.Annotations[metalv1.AnnotationMaintenanceReason],
		"ServerMaintenance "+obj.Namespace+"/"+obj.Name)
}
