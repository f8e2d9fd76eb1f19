package bootdelivery

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

const kindConfig = "ServerBootConfiguration"

// Attempts is what is left of delivery where somebody else gives machines their scripts: the boot view knows the
// attempts, so that a probe's token is accepted, and nothing that is served.
type Attempts struct{ *Delivery }

// Setup registers the reconciler.
func (a Attempts) Setup(mgr ctrl.Manager) error {
	a.notes.init()
	err := ctrl.NewControllerManagedBy(mgr).
		Named("bootattempts").
		For(&metalv1.ServerBootConfiguration{}).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(bootOf), onIdentityChange()).
		WithOptions(objectqueue.Options(a.Workers)).
		Complete(a)
	if err != nil {
		return err
	}
	return mgr.Add(&syncer{delivery: a.Delivery, cache: mgr.GetCache(), kinds: []listed{
		{kindConfig, func() client.ObjectList { return &metalv1.ServerBootConfigurationList{} }},
	}})
}

// Reconcile puts the attempt of one boot configuration into the view.
func (a Attempts) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	name := entryName(kindConfig, req.Namespace, req.Name)
	defer a.initial.done(name)
	var config metalv1.ServerBootConfiguration
	if err := a.Get(ctx, req.NamespacedName, &config); err != nil {
		if apierrors.IsNotFound(err) {
			a.View.Delete(name)
			a.stopAwaiting(name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	in := source{name: name, object: &config, config: &config, attempt: bootattempt.Of(&config)}
	var server metalv1.Server
	switch err := a.Get(ctx, client.ObjectKey{Name: config.Spec.ServerRef.Name}, &server); {
	case apierrors.IsNotFound(err):
		a.View.Delete(name)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcileerror.Handle(ctx, reconcile.Result{}, err)
	}
	in.server = &server
	entry := bootview.Entry{Name: name, UUID: server.Spec.SystemUUID, Rank: rankOf(&config, &server), Attempt: a.attempt(&in), Terms: a.terms(&in)}
	identify(&entry, &server)
	entry.Site = a.site(&server)
	entry.Version = objectversion.Newest(&config, &server)
	a.View.Put(entry)
	switch {
	case !in.attempt.Open() || entry.Rank != bootview.Current:
		a.stopAwaiting(name)
	case !a.attempts.has(in.attempt.ID) && a.reached([]string{name}, in.attempt.ID, server.Name):
		a.Acknowledge(in.attempt.ID, server.Name)
	}
	return reconcile.Result{}, nil
}
