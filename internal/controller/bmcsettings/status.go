package bmcsettings

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// report writes status, once, and only if it says anything new.
func (r *Reconciler) report(ctx context.Context, v *view, p *plan) error {
	before := v.obj.DeepCopy()
	status := &v.obj.Status
	status.State, status.ObservedGeneration = p.state, v.obj.Generation
	status.FailedAttempts = 0
	if p.progress != nil {
		status.FailedAttempts = int32(p.progress.Failures)
	}
	ready := metav1.Condition{
		Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: p.reason, Message: p.message, ObservedGeneration: v.obj.Generation,
	}
	if p.state == metalv1.BMCSettingsStateApplied {
		ready.Status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&status.Conditions, ready)
	if equality.Semantic.DeepEqual(before.Status, *status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, v.obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return nil
}
