package bootdelivery

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
)

const kindConfig = "ServerBootConfiguration"

// Attempts is what is left of delivery where somebody else gives machines their scripts: the boot view knows the
// attempts, so that a probe's token is accepted, and nothing that is served. Of the status of a boot configuration it writes one condition: that no
// boot server knows the attempt. All else of it is the other boot provider's.
type Attempts struct{ *Delivery }

// Setup registers the reconciler.
func (a Attempts) Setup(mgr ctrl.Manager) error {
	a.notes.init()
	a.notes.sources[kindConfig] = &trigger.Source{}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("bootattempts").
		For(&metalv1.ServerBootConfiguration{}).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(bootOf), onIdentityChange()).
		WatchesRawSource(a.notes.source(kindConfig)).
		WithOptions(objectqueue.Options(a.Workers)).
		Complete(a)
	if err != nil {
		return err
	}
	return mgr.Add(&syncer{delivery: a.Delivery, cache: mgr.GetCache(), kinds: []listed{
		{kindConfig, func() client.ObjectList { return &metalv1.ServerBootConfigurationList{} }},
	}})
}

// Revisit has every boot configuration looked at again: this process may write from now on.
func (a Attempts) Revisit(ctx context.Context) error {
	return a.notes.source(kindConfig).WakeAll(ctx, a, &metalv1.ServerBootConfigurationList{})
}

// Reconcile puts the attempt of one boot configuration into the view, and says in its status if no boot server gets it from there.
func (a Attempts) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	name := entryName(kindConfig, req.Namespace, req.Name)
	defer a.initial.done(name)
	var config metalv1.ServerBootConfiguration
	if err := a.Get(ctx, req.NamespacedName, &config); err != nil {
		if apierrors.IsNotFound(err) {
			a.withdraw(name)
			a.awaiting.say(name, false)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	in := source{name: name, object: &config, config: &config, attempt: bootattempt.Of(&config)}
	var server metalv1.Server
	switch err := a.Get(ctx, client.ObjectKey{Name: config.Spec.ServerRef.Name}, &server); {
	case apierrors.IsNotFound(err):
		a.withdraw(name)
	case err != nil:
		return reconcileerror.Handle(ctx, reconcile.Result{}, err)
	default:
		in.server = &server
		a.Trace.Learn(&server, &config, in.attempt)
		a.put(&in)
	}
	early, err := a.say(ctx, &in, config.DeepCopy())
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: early}, err)
}

// withdraw takes an attempt out of the view.
func (a Attempts) withdraw(name string) {
	a.View.Delete(name)
	a.stopAwaiting(name)
}

// put puts the attempt of a boot configuration into the view, and tells the controller of servers once those who answer the machine have it.
func (a Attempts) put(in *source) {
	name, config, server := in.name, in.config, in.server
	entry := bootview.Entry{Name: name, UUID: server.Spec.SystemUUID, Rank: rankOf(config, server), Attempt: a.attempt(in), Terms: a.terms(in)}
	identify(&entry, server)
	entry.Site = a.site(server)
	entry.Version = objectversion.Newest(config, server)
	a.View.Put(entry)
	switch {
	case !in.attempt.Open() || entry.Rank != bootview.Current:
		a.stopAwaiting(name)
	case !a.attempts.has(in.attempt.ID) && a.reached([]string{name}, in.attempt.ID, server.Name):
		a.Acknowledge(in.attempt.ID, server.Name)
	}
}

// say writes into the status of a boot configuration that no boot server knows its attempt, as long as that is so. It returns for how long it is too
// early to say.
func (a Attempts) say(ctx context.Context, in *source, config *metalv1.ServerBootConfiguration) (early time.Duration, err error) {
	if !config.DeletionTimestamp.IsZero() || metalv1.IsIgnored(config) {
		return 0, nil
	}
	before := config.DeepCopy()
	early = a.describeReach(in, &config.Status.Conditions)
	if equality.Semantic.DeepEqual(before.Status, config.Status) {
		return early, nil
	}
	// The lock: conditions are a list, and the boot provider may have written some since.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.Status().Patch(ctx, config, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return early, client.IgnoreNotFound(err)
	}
	a.tellReach(in, before.Status.Conditions, config.Status.Conditions)
	return early, nil
}
