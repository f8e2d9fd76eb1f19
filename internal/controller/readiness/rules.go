package readiness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Reasons of the condition Ready of a rule.
const (
	reasonEnforced = "Enforced"
	reasonInvalid  = "InvalidSpec"
	reasonEnding   = "Ending"
)

// countEvery bounds how often the servers of one rule are counted: a rack that is being discovered changes
// thousands of them in a minute.
const countEvery = 10 * time.Second

// Rules keeps ServerReadinessRules until their taints are gone, and says how they are doing.
type Rules struct {
	client.Client
	Clock clock.PassiveClock

	mu      sync.Mutex
	counted map[string]time.Time
}

// Reconcile looks at one rule.
func (r *Rules) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var rule metalv1.ServerReadinessRule
	if err := r.Get(ctx, req.NamespacedName, &rule); err != nil {
		r.count(req.Name, time.Time{})
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	after, err := r.reconcile(ctx, rule.DeepCopy())
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: after}, err)
}

func (r *Rules) reconcile(ctx context.Context, rule *metalv1.ServerReadinessRule) (after time.Duration, err error) {
	ending := !rule.DeletionTimestamp.IsZero()
	if !ending && !controllerutil.ContainsFinalizer(rule, metalv1.FinalizerReadinessRule) {
		before := rule.DeepCopy()
		controllerutil.AddFinalizer(rule, metalv1.FinalizerReadinessRule)
		return 0, r.patch(ctx, rule, before)
	}
	if wait := r.sinceCount(rule.Name); wait > 0 && !ending && rule.Status.ObservedGeneration == rule.Generation {
		return wait, nil
	}
	var servers metalv1.ServerList
	if err := r.List(ctx, &servers); err != nil {
		return 0, fmt.Errorf("list the Servers: %w", err)
	}
	if ending {
		return 0, r.finalize(ctx, rule, servers.Items)
	}
	r.count(rule.Name, r.Clock.Now())
	return 0, r.report(ctx, rule, condition(rule, servers.Items))
}

// condition says how many servers a rule keeps claims away from.
func condition(rule *metalv1.ServerReadinessRule, servers []metalv1.Server) metav1.Condition {
	if problem := usable(rule); problem != "" {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonInvalid, Message: problem}
	}
	selected, tainted := 0, 0
	for i := range servers {
		if !selects(rule, &servers[i]) {
			continue
		}
		selected++
		if wants(rule, &servers[i]) {
			tainted++
		}
	}
	return metav1.Condition{
		Status: metav1.ConditionTrue, Reason: reasonEnforced,
		Message: fmt.Sprintf("%d of %d selected servers have the taint %s", tainted, selected, rule.Spec.Taint.Key),
	}
}

// finalize lets a rule go when nothing of it is left on any server.
func (r *Rules) finalize(ctx context.Context, rule *metalv1.ServerReadinessRule, servers []metalv1.Server) error {
	if !controllerutil.ContainsFinalizer(rule, metalv1.FinalizerReadinessRule) {
		return nil
	}
	var rules metalv1.ServerReadinessRuleList
	if err := r.List(ctx, &rules); err != nil {
		return fmt.Errorf("list the ServerReadinessRules: %w", err)
	}
	left := 0
	for i := range servers {
		changed := servers[i].DeepCopy()
		if decide(changed, rules.Items); changed.DeletionTimestamp.IsZero() && !equality.Semantic.DeepEqual(&servers[i], changed) {
			left++
		}
	}
	if left > 0 {
		return r.report(ctx, rule, metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonEnding, Message: fmt.Sprintf("%d servers still have the taint", left)})
	}
	before := rule.DeepCopy()
	controllerutil.RemoveFinalizer(rule, metalv1.FinalizerReadinessRule)
	return client.IgnoreNotFound(r.patch(ctx, rule, before))
}

func (r *Rules) report(ctx context.Context, rule *metalv1.ServerReadinessRule, ready metav1.Condition) error {
	before := rule.DeepCopy()
	ready.Type, ready.ObservedGeneration = metalv1.ConditionReady, rule.Generation
	rule.Status.ObservedGeneration = rule.Generation
	apimeta.SetStatusCondition(&rule.Status.Conditions, ready)
	if equality.Semantic.DeepEqual(before.Status, rule.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, rule, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return nil
}

func (r *Rules) patch(ctx context.Context, rule, before *metalv1.ServerReadinessRule) error {
	return r.Patch(ctx, rule, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}

// sinceCount is how long the servers of a rule are not to be counted again.
func (r *Rules) sinceCount(rule string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.counted[rule]; ok {
		return countEvery - r.Clock.Since(at)
	}
	return 0
}

func (r *Rules) count(rule string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counted == nil {
		r.counted = map[string]time.Time{}
	}
	if delete(r.counted, rule); !at.IsZero() {
		r.counted[rule] = at
	}
}

// SetupWithManager registers the controller. A Server whose taints or labels have changed wakes the rules.
func (r *Rules) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("readiness-rules").
		For(&metalv1.ServerReadinessRule{}).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(taintsChanged())).
		WithOptions(objectqueue.Options(1)).
		Complete(r)
}

func (r *Rules) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return index.Requests(ctx, r, &metalv1.ServerReadinessRuleList{})
}

func taintsChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*metalv1.Server)
			after, ok2 := e.ObjectNew.(*metalv1.Server)
			return !ok1 || !ok2 || !maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
				!slices.Equal(before.Spec.Taints, after.Spec.Taints)
		},
	}
}
