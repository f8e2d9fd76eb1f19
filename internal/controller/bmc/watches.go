package bmc

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
		Named("bmc").
		For(&metalv1.BMC{}).
		Watches(&metalv1.Endpoint{}, handler.EnqueueRequestsFromMapFunc(r.with(index.BMCByEndpoint))).
		WatchesMetadata(&metalv1.BMCSecret{}, handler.EnqueueRequestsFromMapFunc(r.with(index.BMCBySecret))).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.backings.OfSecret)).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.backings.OfNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(ofServer), onDeleted()).
		WatchesRawSource(&r.Wake).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

// with finds the BMCs that refer to an object, by an index of its name.
func (r *Reconciler) with(field string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return index.Requests(ctx, r, &metalv1.BMCList{}, client.MatchingFields{field: obj.GetName()})
	}
}

// ofServer is the BMC that a Server is of.
func ofServer(_ context.Context, obj client.Object) []reconcile.Request {
	server, ok := obj.(*metalv1.Server)
	if !ok || server.Spec.BMCRef == nil {
		return nil
	}
	return []reconcile.Request{named(server.Spec.BMCRef.Name)}
}

func named(bmc string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: bmc}}
}
