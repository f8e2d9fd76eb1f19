package claim

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/trouble"
)

// SetupWithManager registers the controller. No claim is reconciled before the allocator has observed all servers: a source
// is synced when its handler has had all objects of the start.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.begin()
	for _, runs := range []manager.Runnable{r.matcher, &r.waiting} {
		if err := mgr.Add(runs); err != nil {
			return err
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("claim").
		For(&metalv1.ServerClaim{}).
		Watches(&metalv1.ServerBootConfiguration{}, &handler.EnqueueRequestForObject{}). // its name is the claim's
		Watches(&metalv1.Server{}, r.serverHandler()).
		WatchesRawSource(&r.matcher.claims).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// serverHandler shows the allocator each change, and queues the claims that have or name the server. The matcher
// queues those that wait for any server.
func (r *Reconciler) serverHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.serverChanged(ctx, nil, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			r.serverChanged(ctx, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			r.pool.Forget(e.Object.GetName())
			r.matcher.wake() // the claim that it was assumed for waits again
			if server, ok := e.Object.(*metalv1.Server); ok {
				enqueue(q, r.claimsOf(ctx, server))
			}
		},
	}
}

func (r *Reconciler) serverChanged(ctx context.Context, oldObj, newObj client.Object, q queue) {
	server, ok := newObj.(*metalv1.Server)
	if !ok {
		return
	}
	if r.pool.Observe(server) {
		r.matcher.wake()
	}
	before, ok := oldObj.(*metalv1.Server)
	if !ok || allocator.NewsFor(before, server) || (reinstallPending(before) == nil) != (reinstallPending(server) == nil) {
		enqueue(q, r.claimsOf(ctx, server))
	}
	if ok && (powerReason(before) != powerReason(server) || trouble.Differ(before.Status.Conditions, server.Status.Conditions)) {
		enqueue(q, owner(server))
	}
	if ok && before.Spec.ServerClaimRef != nil && server.Spec.ServerClaimRef == nil {
		enqueue(q, owner(before)) // it was unbound
	}
}

func enqueue(q queue, requests []reconcile.Request) {
	for _, request := range requests {
		q.Add(request)
	}
}

// claimsOf finds the claims that a change of a Server concerns: its own, and those that name it.
func (r *Reconciler) claimsOf(ctx context.Context, server *metalv1.Server) []reconcile.Request {
	return append(owner(server), index.Requests(ctx, r, &metalv1.ServerClaimList{}, client.MatchingFields{index.ClaimByServer: server.Name})...)
}

// owner returns the claim that a server is bound to.
func owner(server *metalv1.Server) []reconcile.Request {
	ref := server.Spec.ServerClaimRef
	if ref == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}}}
}
