package bootconfig

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Pending is for boot configurations that another boot provider makes Ready: it says of a new one that it is Pending, which such
// providers and those who wait for them read. All else of it is theirs.
type Pending struct {
	client.Client
	// Workers is how many boot configurations are looked at at the same time.
	Workers int
}

// Reconcile looks at one boot configuration.
func (p *Pending) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var config metalv1.ServerBootConfiguration
	if err := p.Get(ctx, req.NamespacedName, &config); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if config.Status.State != "" || !config.DeletionTimestamp.IsZero() || metalv1.IsIgnored(&config) {
		return reconcile.Result{}, nil
	}
	before := config.DeepCopy()
	config.Status.State = metalv1.ServerBootConfigurationStatePending
	// The lock: the provider may have said more by now.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := p.Status().Patch(ctx, &config, patch, client.FieldOwner(metalv1.FieldManager))
	return reconcileerror.Handle(ctx, reconcile.Result{}, client.IgnoreNotFound(err))
}

// SetupWithManager registers the controller.
func (p *Pending) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("bootconfig-pending").
		For(&metalv1.ServerBootConfiguration{}).
		WithOptions(objectqueue.Options(p.Workers)).
		Complete(p)
}
