package childset

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	eventsender "github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

const (
	// countEvery bounds how often the children of one Set are counted: each of a thousand changes its state several times.
	countEvery = 5 * time.Second
	// soon is when something is looked at again that others are about to write.
	soon = 100 * time.Millisecond
)

// Sets does what concerns a Set as a whole: its operations, its deletion, its status.
type Sets struct {
	client.Client
	Kind     *Kind
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	mu      sync.Mutex
	counted map[string]time.Time
}

// Reconcile looks at one Set.
func (r *Sets) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	obj := r.Kind.newSet()
	if err := r.Get(ctx, req.NamespacedName, obj); err != nil {
		r.count(req.Name, time.Time{})
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	after, err := r.reconcile(ctx, r.Kind.readSet(copyOf(obj)))
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: after}, err)
}

func (r *Sets) reconcile(ctx context.Context, s *set) (after time.Duration, err error) {
	if !deleting(s) && !controllerutil.ContainsFinalizer(s, r.Kind.finalizer) {
		return 0, r.patch(ctx, s, func() { controllerutil.AddFinalizer(s, r.Kind.finalizer) })
	}
	children, err := list(ctx, r, r.Kind.children(), client.MatchingFields{index.ControlledBy: string(s.GetUID())})
	if err != nil {
		return 0, fmt.Errorf("list the %s of %s %q: %w", r.Kind.Child, r.Kind.Name, s.GetName(), err)
	}
	if deleting(s) && len(children) == 0 {
		return 0, r.finalize(ctx, s)
	}
	if done, err := r.operate(ctx, s, children); done || err != nil {
		return 0, err
	}
	if s.ignoresItself() && !deleting(s) {
		return 0, nil
	}
	_, stands := r.Kind.counted(s.Object)
	if wait := r.sinceCount(s.GetName()); wait > 0 && !deleting(s) && *stands.generation == s.GetGeneration() {
		return wait, nil
	}
	r.count(s.GetName(), r.Clock.Now())
	return 0, r.report(ctx, s, children)
}

// finalize lets a Set go whose children have gone.
func (r *Sets) finalize(ctx context.Context, s *set) error {
	if !controllerutil.ContainsFinalizer(s, r.Kind.finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.patch(ctx, s, func() { controllerutil.RemoveFinalizer(s, r.Kind.finalizer) }))
}

// patch writes what changes of spec and metadata, and only if nobody wrote in between.
func (r *Sets) patch(ctx context.Context, s *set, edit func()) error {
	before := copyOf(s.Object)
	edit()
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return r.Patch(ctx, s.Object, patch, client.FieldOwner(metalv1.FieldManager))
}

func (r *Sets) event(s *set, reason, message string) {
	eventsender.Send(r.Recorder, s.Object, nil, corev1.EventTypeWarning, reason, message)
}

// sinceCount is how long the children of a Set are not to be counted again.
func (r *Sets) sinceCount(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.counted[name]; ok {
		return countEvery - r.Clock.Since(at)
	}
	return 0
}

func (r *Sets) count(name string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counted == nil {
		r.counted = map[string]time.Time{}
	}
	if delete(r.counted, name); !at.IsZero() {
		r.counted[name] = at
	}
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Sets) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(r.Kind.Name)).
		For(r.Kind.newSet(), builder.WithPredicates(predicate.Or(setChanged(), r.Kind.statusTaken()))).
		Watches(r.Kind.newChild(""), handler.EnqueueRequestsFromMapFunc(r.ofChild), builder.WithPredicates(r.Kind.childReported())).
		Watches(r.Kind.newTarget(), handler.EnqueueRequestsFromMapFunc(r.ofTarget), builder.WithPredicates(targetChanged())).
		Watches(&farrierv1.RolloutPolicy{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(exists())).
		WithOptions(objectqueue.Options(1)).
		Complete(r)
}

// all are all Sets.
func (r *Sets) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return index.Requests(ctx, r, r.Kind.sets())
}

// exists lets through that an object appears or goes.
func exists() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// statusTaken lets a Set through that says nothing any more: somebody has taken its status away.
func (k *Kind) statusTaken() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		_, stands := k.counted(e.ObjectNew)
		return stands.conditions != nil && len(*stands.conditions) == 0
	}}
}

// ofTarget are the Sets that select a target.
func (r *Sets) ofTarget(ctx context.Context, target client.Object) []reconcile.Request {
	present := copyOf(target)
	present.SetDeletionTimestamp(nil) // one that goes is counted no more
	return index.RequestsIf(ctx, r, r.Kind.sets(), func(obj client.Object) bool { return r.Kind.readSet(obj).selects(r.Kind, present) })
}

// ofChild are the Sets that a child is counted by: its own, or those whose target it has taken.
func (r *Sets) ofChild(ctx context.Context, child client.Object) []reconcile.Request {
	var requests []reconcile.Request
	target := r.Kind.newTarget()
	if err := r.Get(ctx, client.ObjectKey{Name: r.Kind.targetOf(child)}, target); err == nil {
		requests = r.ofTarget(ctx, target)
	}
	return append(requests, index.RequestsIf(ctx, r, r.Kind.sets(), func(obj client.Object) bool { return obj.GetUID() == controllerOf(child) })...)
}

// childReported lets through what is counted, and what operations are about.
func (k *Kind) childReported() predicate.Predicate {
	changed := k.childChanged()
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, _, _ := k.told(e.ObjectOld)
		now, _, _ := k.told(e.ObjectNew)
		return before != now || changed.Update(e)
	}}
}
