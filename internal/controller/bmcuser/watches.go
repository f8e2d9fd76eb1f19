package bmcuser

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
)

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("bmcuser").
		For(&metalv1.BMCUser{}).
		Owns(&metalv1.BMCSecret{}, builder.OnlyMetadata).
		Watches(&metalv1.BMCUser{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			if u, ok := obj.(*metalv1.BMCUser); ok && u.Spec.BMCRef != nil {
				return index.Requests(ctx, r, &metalv1.BMCUserList{}, client.MatchingFields{index.BMCUserByBMC: u.Spec.BMCRef.Name})
			}
			return nil
		})).
		Watches(&metalv1.BMC{}, handler.EnqueueRequestsFromMapFunc(r.with(index.BMCUserByBMC))).
		WatchesMetadata(&metalv1.BMCSecret{}, handler.EnqueueRequestsFromMapFunc(r.with(index.BMCUserBySecret))).
		WatchesRawSource(&r.Wake).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

// with finds the BMCUsers that refer to an object, by an index of its name.
func (r *Reconciler) with(field string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return index.Requests(ctx, r, &metalv1.BMCUserList{}, client.MatchingFields{field: obj.GetName()})
	}
}
