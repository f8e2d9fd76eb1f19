package rolloutpolicy

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/place"
)

// decideEvery bounds how often a decision is made: it looks at all servers, and each of a thousand children changes its state several times.
const decideEvery = 2 * time.Second

// everything is what every request is about: there is one decision for all.
const everything = "everything"

// Reconciler gives permits.
type Reconciler struct {
	client.Client
	// Live asks the API past the caches.
	Live     client.Reader
	Kinds    []*childset.Kind
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	permits permits
	mu      sync.Mutex
	decided time.Time
}

// Reconcile decides for all changes.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if wait := r.sinceDecision(); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	after, err := r.reconcile(ctx)
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: after}, err)
}

func (r *Reconciler) reconcile(ctx context.Context) (time.Duration, error) {
	if err := r.clear(ctx); err != nil {
		return 0, err
	}
	v, err := r.gather(ctx)
	if err != nil || len(v.policies) == 0 {
		return 0, err
	}
	p := v.decide()
	if err := errors.Join(r.act(ctx, v, p), r.report(ctx, v, p.stands)); err != nil {
		return 0, err
	}
	if p.again.IsZero() {
		return 0, nil
	}
	return max(p.again.Sub(v.now), time.Millisecond), nil
}

// sinceDecision is how long no decision is to be made.
func (r *Reconciler) sinceDecision() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Clock.Now()
	if wait := decideEvery - now.Sub(r.decided); wait > 0 && wait <= decideEvery {
		return wait
	}
	r.decided = now
	return 0
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: everything}}}
	})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("rolloutpolicy").
		Watches(&farrierv1.RolloutPolicy{}, all, builder.WithPredicates(policyChanged())).
		Watches(&metalv1.Server{}, all, builder.WithPredicates(r.serverChanged()))
	for _, kind := range r.Kinds {
		b = b.Watches(kind.NewSet(), all, builder.WithPredicates(setChanged())).
			Watches(kind.NewChild(), all, builder.WithPredicates(childMoved(kind)))
	}
	return b.WithOptions(objectqueue.Options(1)).Complete(r)
}

// policyChanged lets everything through but what is reported here.
func policyChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		now, ok := e.ObjectNew.(*farrierv1.RolloutPolicy)
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || ok && len(now.Status.Conditions) == 0
	}}
}

// serverChanged lets through what decisions look at of a server.
func (r *Reconciler) serverChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*metalv1.Server)
		now, also := e.ObjectNew.(*metalv1.Server)
		return !ok || !also || standOf(before) != standOf(now) || place.Of(before) != place.Of(now)
	}}
}

// setChanged lets through what a Set asks for, and what it says of its rollout.
func setChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// childMoved lets through that a child stands otherwise.
func childMoved(kind *childset.Kind) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return goesByPolicy(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return (goesByPolicy(e.ObjectOld) || goesByPolicy(e.ObjectNew)) && kind.ChildMoved(e.ObjectOld, e.ObjectNew)
		},
	}
}

func goesByPolicy(obj client.Object) bool {
	return obj.GetAnnotations()[metalv1.AnnotationRolloutPolicy] != ""
}
