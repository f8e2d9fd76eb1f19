package maintenance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/turn"
)

// act carries a decision out: the boot configuration first, then the server, in one patch that fails if a
// claim, or another maintenance, was there first. A server that the maintenance before handed on is there already.
func (r *Reconciler) act(ctx context.Context, v *view, decided verdict) error {
	switch {
	case !decided.take && !decided.keep:
		return nil
	case decided.reason == metalv1.ReasonMaintenanceGranted:
		if err := r.keepBoot(ctx, v); err != nil {
			return err
		}
	}
	before := v.server.DeepCopy()
	v.server.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: v.obj.Namespace, Name: v.obj.Name}
	metav1.SetMetaDataAnnotation(&v.server.ObjectMeta, metalv1.AnnotationMaintainedBy, turn.Mark(v.obj))
	v.server.Spec.MaintenanceBootConfigurationRef = bootRef(v)
	if v.obj.Spec.LocatorLED != "" && v.server.Annotations[metalv1.AnnotationIndicatorBefore] == "" {
		rememberIndicator(v.server)
	}
	if !equality.Semantic.DeepEqual(before, v.server) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Patch(ctx, v.server, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
			return fmt.Errorf("take Server %q: %w", v.server.Name, err)
		}
	}
	handedOn := decided.reason == metalv1.ReasonMaintenanceGranted && v.obj.Status.State == metalv1.ServerMaintenanceStatePending
	if decided.take || handedOn {
		events.Send(r.Recorder, v.obj, v.server, corev1.EventTypeNormal, "MaintenanceStarted", "Server "+v.server.Name+" is in maintenance")
	}
	return nil
}

// rememberIndicator notes what the light is before the maintenance changes it; nothing where
// its BMC does not say.
func rememberIndicator(server *metalv1.Server) {
	switch led := server.Status.IndicatorLED; led {
	case metalv1.IndicatorLEDLit, metalv1.IndicatorLEDBlinking, metalv1.IndicatorLEDOff:
		metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationIndicatorBefore, string(led))
	}
}

// report writes status, once, and only if it says anything new.
func (r *Reconciler) report(ctx context.Context, obj *metalv1.ServerMaintenance, decided verdict) error {
	before := obj.DeepCopy()
	obj.Status.State = decided.state
	obj.Status.ObservedGeneration = obj.Generation
	has := metav1.ConditionFalse
	if decided.take || decided.keep {
		has = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&obj.Status.Conditions, metav1.Condition{
		Type: metalv1.ConditionInMaintenance, Status: has, Reason: decided.reason, Message: decided.message, ObservedGeneration: obj.Generation,
	})
	if equality.Semantic.DeepEqual(before.Status, obj.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return nil
}
