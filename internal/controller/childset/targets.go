package childset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Targets gives each target the child that its Set wants for it.
type Targets struct {
	client.Client
	// Live asks the API past the caches: whose an object is that has the name of a new child.
	Live client.Reader
	Kind *Kind
	// Workers is how many targets are looked at at the same time.
	Workers int
}

// Reconcile looks at one target.
func (r *Targets) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	v, err := r.Kind.gather(ctx, r.Client, req.Name)
	if err == nil {
		err = r.act(ctx, v, v.decide())
	}
	return reconcileerror.Handle(ctx, reconcile.Result{}, err)
}

// gather reads what is known of a target. What it returns belongs to the caches.
func (k *Kind) gather(ctx context.Context, from client.Reader, name string) (*view, error) {
	v := &view{kind: k, name: name}
	target := k.newTarget()
	switch err := from.Get(ctx, client.ObjectKey{Name: name}, target); {
	case err == nil:
		v.target = target
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s %q: %w", k.Target, name, err)
	}
	var err error
	if v.children, err = list(ctx, from, k.children(), client.MatchingFields{k.byTarget: name}); err != nil {
		return nil, fmt.Errorf("list the %s of %s %q: %w", k.Child, k.Target, name, err)
	}
	slices.SortFunc(v.children, byAge)
	sets, err := list(ctx, from, k.sets())
	if err != nil {
		return nil, fmt.Errorf("list the %ss: %w", k.Name, err)
	}
	v.sets = k.readSets(sets)
	if v.defaults, err = policyExists(ctx, from, farrierv1.DefaultRolloutPolicy); err != nil {
		return nil, err
	}
	return v, nil
}

// list is what a list holds. The objects belong to the cache.
func list(ctx context.Context, from client.Reader, into client.ObjectList, options ...client.ListOption) ([]client.Object, error) {
	if err := from.List(ctx, into, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	found := make([]client.Object, 0, apimeta.LenList(into))
	// It fails only for what is no list, and for items that are no objects.
	_ = apimeta.EachListItem(into, func(item runtime.Object) error {
		found = append(found, item.(client.Object))
		return nil
	})
	return found, nil
}

// act writes what was decided. A write that was decided on what is no longer so fails, and is decided again.
func (r *Targets) act(ctx context.Context, v *view, p plan) error {
	for _, c := range p.change {
		patch := client.MergeFromWithOptions(c.was, client.MergeFromWithOptimisticLock{})
		if err := r.Patch(ctx, c.to, patch, client.FieldOwner(metalv1.FieldManager)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("bring %s %q to its template: %w", r.Kind.Child, c.was.GetName(), err)
		}
	}
	for _, child := range p.remove {
		uid, version := child.GetUID(), child.GetResourceVersion()
		if err := r.Delete(ctx, copyOf(child), client.Preconditions{UID: &uid, ResourceVersion: &version}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove %s %q: %w", r.Kind.Child, child.GetName(), err)
		}
	}
	if p.create != nil {
		return r.create(ctx, v, p.create)
	}
	return nil
}

// create makes a child, under the first of its two names that nobody else has. Where both are taken nothing is made: the status of the Set says so.
func (r *Targets) create(ctx context.Context, v *view, s *set) error {
	target := v.name
	plain, exact := names(s.GetName(), target)
	for _, name := range []string{plain, exact} {
		child := v.born(s, name)
		err := r.Create(ctx, child, client.FieldOwner(metalv1.FieldManager))
		if !apierrors.IsAlreadyExists(err) {
			if err != nil {
				return fmt.Errorf("create %s %q: %w", r.Kind.Child, name, err)
			}
			return nil
		}
		switch err := r.Live.Get(ctx, client.ObjectKey{Name: name}, child); {
		case apierrors.IsNotFound(err):
			return reconcileerror.Paused{For: soon, Err: fmt.Errorf("%s %q has just been deleted", r.Kind.Child, name)}
		case err != nil:
			return fmt.Errorf("read %s %q: %w", r.Kind.Child, name, err)
		case controllerOf(child) == s.GetUID() && r.Kind.targetOf(child) == target:
			return nil // an earlier write, which the cache is about to show
		}
	}
	return nil
}

// born is a child as its Set makes it.
func (v *view) born(s *set, name string) client.Object {
	child := v.kind.newChild(v.name)
	child.SetName(name)
	v.kind.bring(s.Object, child)
	child = v.follow(s, child, false)
	if s.ignoresChildren() {
		child = operated(child, metalv1.OperationIgnorePropagated)
	}
	child.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(s.Object, metalv1.GroupVersion.WithKind(v.kind.Name))})
	return child
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Targets) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(r.Kind.Name)+"-targets").
		For(r.Kind.newTarget(), builder.WithPredicates(targetChanged())).
		Watches(r.Kind.newChild(""), handler.EnqueueRequestsFromMapFunc(func(_ context.Context, child client.Object) []reconcile.Request {
			return request(r.Kind.targetOf(child))
		}), builder.WithPredicates(r.Kind.childChanged())).
		Watches(r.Kind.newSet(), handler.EnqueueRequestsFromMapFunc(r.of), builder.WithPredicates(setChanged())).
		Watches(&farrierv1.RolloutPolicy{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(defaultAppears())).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

// of are the targets that a Set is about: those that it selects, and those that it has children for.
func (r *Targets) of(ctx context.Context, obj client.Object) []reconcile.Request {
	s := r.Kind.readSet(obj)
	var requests []reconcile.Request
	if s.problem == nil {
		requests = index.Requests(ctx, r, r.Kind.targets(), client.MatchingLabelsSelector{Selector: s.selector})
	}
	children, err := list(ctx, r, r.Kind.children(), client.MatchingFields{index.ControlledBy: string(obj.GetUID())})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "objects to reconcile not listed", "kind", r.Kind.Child)
	}
	for _, child := range children {
		requests = append(requests, request(r.Kind.targetOf(child))...)
	}
	return requests
}

// all are the targets of all Sets.
func (r *Targets) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return index.Requests(ctx, r, r.Kind.targets())
}

// defaultAppears lets through that there is a default policy, or no longer.
func defaultAppears() predicate.Predicate {
	named := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() == farrierv1.DefaultRolloutPolicy })
	return predicate.And(named, exists())
}

func request(name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

// targetChanged lets through what decides whether a target is selected.
func targetChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) || deleting(e.ObjectOld) != deleting(e.ObjectNew)
	}}
}

// childChanged lets everything through but what its controller tells meanwhile.
func (k *Kind) childChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || k.stateOf(e.ObjectOld) != k.stateOf(e.ObjectNew) ||
			deleting(e.ObjectOld) != deleting(e.ObjectNew) || controllerOf(e.ObjectOld) != controllerOf(e.ObjectNew) ||
			operationOf(e.ObjectOld) != operationOf(e.ObjectNew) ||
			annotation(e.ObjectOld, metalv1.AnnotationRolloutPolicy) != annotation(e.ObjectNew, metalv1.AnnotationRolloutPolicy)
	}}
}

// setChanged lets everything through but status.
func setChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || deleting(e.ObjectOld) != deleting(e.ObjectNew) ||
			operationOf(e.ObjectOld) != operationOf(e.ObjectNew) ||
			annotation(e.ObjectOld, metalv1.AnnotationRolloutPolicy) != annotation(e.ObjectNew, metalv1.AnnotationRolloutPolicy) || !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
}

func operationOf(obj client.Object) string {
	operation, _ := metalv1.OperationOf(obj)
	return operation
}
