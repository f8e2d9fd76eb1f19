package server

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
)

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := r.census.publish(mgr, r.Metrics); err != nil {
		return err
	}
	options := objectqueue.Options(r.Workers)
	options.NewQueue = r.newQueue
	return ctrl.NewControllerManagedBy(mgr).
		Named("server").
		For(&metalv1.Server{}).
		Watches(&metalv1.ServerBootConfiguration{}, handler.EnqueueRequestsFromMapFunc(ofBoot)).
		Watches(&metalv1.ServerMaintenance{}, handler.EnqueueRequestsFromMapFunc(ofMaintenance)).
		Watches(&metalv1.ServerClaim{}, handler.EnqueueRequestsFromMapFunc(r.ofClaim)).
		Watches(&metalv1.BMC{}, handler.EnqueueRequestsFromMapFunc(r.with(index.ServerByBMC)), builder.WithPredicates(connectionChanged())).
		WatchesMetadata(&metalv1.BMCSecret{}, handler.EnqueueRequestsFromMapFunc(r.with(index.ServerByBMCSecret))).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.backings.OfSecret)).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.backings.OfNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(ofRecord)).
		WatchesRawSource(&r.Wake).
		WithOptions(options).
		Complete(r)
}

// ofBoot is the server that a boot configuration is for.
func ofBoot(_ context.Context, obj client.Object) []reconcile.Request {
	config, ok := obj.(*metalv1.ServerBootConfiguration)
	if !ok {
		return nil
	}
	return named(config.Spec.ServerRef.Name)
}

// ofClaim are the server that a claim names, and those that name the claim: it may be deleted after a server was taken for it and before
// it says so.
func (r *Reconciler) ofClaim(ctx context.Context, obj client.Object) []reconcile.Request {
	claim, ok := obj.(*metalv1.ServerClaim)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	if claim.Spec.ServerRef != nil {
		requests = named(claim.Spec.ServerRef.Name)
	}
	var has metalv1.ServerList
	if err := r.List(ctx, &has, client.MatchingFields{index.ServerByClaim: string(claim.UID)}); err != nil {
		log.FromContext(ctx).Error(err, "cannot list the servers of a claim", "claim", client.ObjectKeyFromObject(claim))
		return requests
	}
	for i := range has.Items {
		requests = append(requests, named(has.Items[i].Name)...)
	}
	return requests
}

// ofRecord is the server that an object of record is about.
func ofRecord(_ context.Context, obj client.Object) []reconcile.Request {
	return named(machinerecord.ServerOf(obj))
}

func named(server string) []reconcile.Request {
	if server == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: server}}}
}

// with finds the servers that refer to an object, by an index of its name.
func (r *Reconciler) with(field string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		var list metalv1.ServerList
		if err := r.List(ctx, &list, client.MatchingFields{field: obj.GetName()}); err != nil {
			log.FromContext(ctx).Error(err, "cannot list the servers that refer to an object", "object", obj.GetName())
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			requests = append(requests, named(list.Items[i].Name)...)
		}
		return requests
	}
}

// connectionChanged lets those changes of a BMC through that decide whether, and where, its servers find it, and what they say is wrong.
// What it reports comes as observations.
func connectionChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*metalv1.BMC)
			after, ok2 := e.ObjectNew.(*metalv1.BMC)
			return !ok1 || !ok2 || before.Generation != after.Generation || before.Status.IP != after.Status.IP ||
				readyReason(before) != readyReason(after) || troubleOf(before) != troubleOf(after)
		},
	}
}

func readyReason(bmc *metalv1.BMC) string {
	if c := apimeta.FindStatusCondition(bmc.Status.Conditions, metalv1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

// notBegun is the priority of servers for which nothing was done yet: below that of all others, above that of the servers that a start
// of the manager lists.
const notBegun = -10

// line is the queue of servers. Servers that have begun go before those for which nothing was done: when there is more work than the
// processors can do, each server is finished soon after it has begun. Ten thousand side by side would each take as long as all of them
// together, and status would have to tell of each slow step.
type line struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	begun func(server string) bool
}

// newQueue makes the queue, for controller.Options.
func (r *Reconciler) newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return &line{objectqueue.New(name, limiter), r.begun.has}
}

func (l *line) Add(request reconcile.Request) {
	l.AddWithOpts(priorityqueue.AddOpts{}, request)
}

func (l *line) AddAfter(request reconcile.Request, after time.Duration) {
	l.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

func (l *line) AddRateLimited(request reconcile.Request) {
	l.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (l *line) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		mine := o
		switch asked := ptr.Deref(o.Priority, 0); {
		case !l.begun(request.Name):
			mine.Priority = ptr.To(min(asked, notBegun))
		case asked == notBegun: // it was so when it was queued last
			mine.Priority = nil
		}
		l.PriorityQueue.AddWithOpts(mine, request)
	}
}

// ofMaintenance is the server that a maintenance is about.
func ofMaintenance(_ context.Context, obj client.Object) []reconcile.Request {
	m, ok := obj.(*metalv1.ServerMaintenance)
	if !ok {
		return nil
	}
	return named(m.Spec.ServerRef.Name)
}
