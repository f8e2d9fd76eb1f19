package maintenance

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
)

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("servermaintenance").
		For(&metalv1.ServerMaintenance{}).
		Owns(&metalv1.ServerBootConfiguration{}).
		Watches(&metalv1.ServerMaintenance{}, handler.EnqueueRequestsFromMapFunc(r.rivalsOf)).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(r.ofServer), builder.WithPredicates(turnChanged())).
		Watches(&metalv1.ServerClaim{}, handler.EnqueueRequestsFromMapFunc(r.ofClaim), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

// rivalsOf finds the maintenances that wait for the same server: one that ends or steps back lets another in.
func (r *Reconciler) rivalsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	m, ok := obj.(*metalv1.ServerMaintenance)
	if !ok {
		return nil
	}
	return r.of(ctx, m.Spec.ServerRef.Name)
}

func (r *Reconciler) ofServer(ctx context.Context, obj client.Object) []reconcile.Request {
	requests := r.of(ctx, obj.GetName())
	if server, ok := obj.(*metalv1.Server); ok && server.Spec.ServerMaintenanceRef != nil {
		ref := server.Spec.ServerMaintenanceRef
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}})
	}
	return requests
}

func (r *Reconciler) ofClaim(ctx context.Context, obj client.Object) []reconcile.Request {
	claim, ok := obj.(*metalv1.ServerClaim)
	if !ok || claim.Spec.ServerRef == nil {
		return nil
	}
	return r.of(ctx, claim.Spec.ServerRef.Name)
}

func (r *Reconciler) of(ctx context.Context, server string) []reconcile.Request {
	return index.Requests(ctx, r, &metalv1.ServerMaintenanceList{}, client.MatchingFields{index.MaintenanceByServer: server})
}

// turnChanged lets those changes of a Server through that decide whose turn it is.
func turnChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*metalv1.Server)
			after, ok2 := e.ObjectNew.(*metalv1.Server)
			return !ok1 || !ok2 || before.Generation != after.Generation || before.Status.State != after.Status.State ||
				before.Annotations[metalv1.AnnotationParked] != after.Annotations[metalv1.AnnotationParked] ||
				before.Annotations[metalv1.AnnotationClaimedBy] != after.Annotations[metalv1.AnnotationClaimedBy] ||
				before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
		},
	}
}
