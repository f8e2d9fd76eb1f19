package readiness

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
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
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Servers puts the taints of rules on Servers, and takes them away.
type Servers struct {
	client.Client
	// Workers is how many servers are looked at at the same time.
	Workers int
}

// Reconcile looks at one Server.
func (r *Servers) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var server metalv1.Server
	if err := r.Get(ctx, req.NamespacedName, &server); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcileerror.Handle(ctx, reconcile.Result{}, r.reconcile(ctx, &server))
}

func (r *Servers) reconcile(ctx context.Context, server *metalv1.Server) error {
	if !server.DeletionTimestamp.IsZero() || metalv1.IsIgnored(server) {
		return nil
	}
	var rules metalv1.ServerReadinessRuleList
	if err := r.List(ctx, &rules); err != nil {
		return fmt.Errorf("list the ServerReadinessRules: %w", err)
	}
	changed := server.DeepCopy()
	decide(changed, rules.Items)
	if equality.Semantic.DeepEqual(server, changed) {
		return nil
	}
	patch := client.MergeFromWithOptions(server, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, changed, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the taints of Server %q: %w", server.Name, err))
	}
	return nil
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Servers) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("readiness-servers").
		For(&metalv1.Server{}, builder.WithPredicates(readinessChanged())).
		Watches(&metalv1.ServerReadinessRule{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(ruleChanged())).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

// all is every server: a rule that ends has to be found on those too that it does not select any more.
func (r *Servers) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return index.Requests(ctx, r, &metalv1.ServerList{})
}

// ruleChanged lets those changes of a rule through that are about servers: not its status.
func ruleChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
	}
}

// readinessChanged lets those changes of a Server through that a rule could be about.
func readinessChanged() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*metalv1.Server)
			after, ok2 := e.ObjectNew.(*metalv1.Server)
			return !ok1 || !ok2 || !maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
				!slices.Equal(before.Spec.Taints, after.Spec.Taints) || !maps.Equal(statuses(before), statuses(after))
		},
	}
}

func statuses(server *metalv1.Server) map[string]string {
	out := make(map[string]string, len(server.Status.Conditions))
	for _, c := range server.Status.Conditions {
		out[c.Type] = string(c.Status)
	}
	return out
}
