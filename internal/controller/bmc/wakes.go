package bmc

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("bmc").
		For(&metalv1.BMC{}).
		Watches(&metalv1.Endpoint{}, handler.EnqueueRequestsFromMapFunc(r.with(index.BMCByEndpoint))).
		WatchesMetadata(&metalv1.BMCSecret{}, handler.EnqueueRequestsFromMapFunc(r.with(index.BMCBySecret))).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.backings.ofSecret)).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.backings.ofNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(ofServer), onDeleted()).
		WatchesRawSource(&r.Wake).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Workers}).
		Complete(r)
}

// with finds the BMCs that refer to an object, by an index of its name.
func (r *Reconciler) with(field string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		var list metalv1.BMCList
		if err := r.List(ctx, &list, client.MatchingFields{field: obj.GetName()}); err != nil {
			return nil
		}
		requests := make([]reconcile.Request, 0, len(list.Items))
		for i := range list.Items {
			requests = append(requests, named(list.Items[i].Name))
		}
		return requests
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

// backings knows which BMCs have credentials in which core Secret. It is filled as BMCs are looked at, each
// at least once after a start, so it is complete without a copy of every BMCSecret in memory.
type backings struct {
	mu    sync.Mutex
	byBMC map[string]types.NamespacedName
	bmcs  map[types.NamespacedName]map[string]struct{}
}

// note remembers what the BMCSecret of a BMC stands for; nil: it has none.
func (b *backings) note(bmc string, secret *metalv1.BMCSecret) {
	var key types.NamespacedName
	backed := false
	if secret != nil {
		key, backed = connection.Backing(secret)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, known := b.byBMC[bmc]; known {
		if backed && old == key {
			return
		}
		delete(b.byBMC, bmc)
		if delete(b.bmcs[old], bmc); len(b.bmcs[old]) == 0 {
			delete(b.bmcs, old)
		}
	}
	if !backed {
		return
	}
	if b.byBMC == nil {
		b.byBMC, b.bmcs = map[string]types.NamespacedName{}, map[types.NamespacedName]map[string]struct{}{}
	}
	if b.bmcs[key] == nil {
		b.bmcs[key] = map[string]struct{}{}
	}
	b.byBMC[bmc], b.bmcs[key][bmc] = key, struct{}{}
}

func (b *backings) ofSecret(_ context.Context, obj client.Object) []reconcile.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var requests []reconcile.Request
	for bmc := range b.bmcs[client.ObjectKeyFromObject(obj)] {
		requests = append(requests, named(bmc))
	}
	return requests
}

func (b *backings) ofNamespace(_ context.Context, obj client.Object) []reconcile.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var requests []reconcile.Request
	for bmc, key := range b.byBMC {
		if key.Namespace == obj.GetName() {
			requests = append(requests, named(bmc))
		}
	}
	return requests
}
