package claim

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Reconciler binds claims.
type Reconciler struct {
	// Client never reads back an older version than this process wrote: readcache makes it.
	client.Client
	// APIReader reads past the cache, where one that lags would give a claim a second server.
	APIReader client.Reader
	Clock     clock.Clock
	// Workers is how many claims are reconciled, and with it servers taken, at the same time.
	Workers int
	// ForeignBoot: another boot provider makes boot configurations Ready, and may not report for which generation.
	ForeignBoot bool
	// Recorder and Logger report on claims to people. Recorder may be nil.
	Recorder events.EventRecorder

	pool    *allocator.Pool
	matcher *matcher
	said    said
	waiting waiting
	steps   steps
	heard   heard
}

// begin makes the allocator, which has to observe all servers before the first claim.
func (r *Reconciler) begin() {
	r.pool = allocator.NewPool()
	r.matcher = newMatcher(r.pool, r.Clock)
}

// Reconcile reconciles one claim.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.ServerClaim
	if err := r.Get(ctx, req.NamespacedName, &obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	again, err := r.reconcile(ctx, &obj)
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: again}, err)
}

// forget drops all that is in memory about a claim.
func (r *Reconciler) forget(name client.ObjectKey) {
	r.said.forget(name)
	r.steps.forget(name)
	r.heard.forget(name)
	r.withdraw(name)
}

// withdraw removes the claim from those that wait. A server that was assumed for it is free for another.
func (r *Reconciler) withdraw(name client.ObjectKey) {
	r.waiting.forget(name)
	if r.pool.Withdraw(name) {
		r.matcher.wake()
	}
}

func (r *Reconciler) reconcile(ctx context.Context, obj *metalv1.ServerClaim) (again time.Duration, _ error) {
	if !obj.DeletionTimestamp.IsZero() {
		return 0, r.finalize(ctx, obj)
	}
	if metalv1.IsIgnored(obj) {
		r.withdraw(client.ObjectKeyFromObject(obj))
		return 0, nil
	}
	if done, err := r.dropOperation(ctx, obj); done || err != nil {
		return 0, err
	}
	server, err := r.serverOf(ctx, obj)
	if err != nil {
		return 0, err
	}
	if server == nil {
		server, err = r.bind(ctx, obj)
	}
	switch {
	case err != nil:
		return 0, err
	case server == nil:
		return r.await(ctx, obj)
	}
	return 0, r.keep(ctx, obj, server)
}

// finalize removes the finalizer at once. The Server's state machine notices by itself that the claim is gone,
// and no hung operating system can delay the deletion. The boot configuration is deleted here: who deletes the claim may tell the
// garbage collector to orphan it, and it would block the next claim of that name.
func (r *Reconciler) finalize(ctx context.Context, obj *metalv1.ServerClaim) error {
	r.forget(client.ObjectKeyFromObject(obj))
	if !controllerutil.ContainsFinalizer(obj, metalv1.FinalizerServerClaim) {
		return nil
	}
	if err := r.removeBootConfiguration(ctx, obj); err != nil {
		return err
	}
	before := obj.DeepCopy()
	controllerutil.RemoveFinalizer(obj, metalv1.FinalizerServerClaim)
	return client.IgnoreNotFound(r.patch(ctx, obj, before))
}

// await adds the claim to those that wait, and explains why if there is no server for it.
func (r *Reconciler) await(ctx context.Context, obj *metalv1.ServerClaim) (time.Duration, error) {
	if obj.Spec.ServerRef != nil {
		// Its user has named a server while another was bound to it.
		if err := r.unbindSurplus(ctx, obj); err != nil {
			return 0, err
		}
	}
	hopeful, err := r.pool.Pend(obj)
	if hopeful {
		r.matcher.wake()
	}
	if err == nil && hopeful {
		return repeatAfter, nil
	}
	return r.explain(ctx, obj)
}

// keep writes what follows from a bound server: its name into the claim, the boot configuration, status. The process may end after
// each.
func (r *Reconciler) keep(ctx context.Context, obj *metalv1.ServerClaim, server *metalv1.Server) error {
	switch err := r.name(ctx, obj, server); {
	case apierrors.IsNotFound(err):
		return nil // deleted before it had a finalizer; its Server notices by itself
	case err != nil:
		return err
	}
	if err := r.unbindSurplus(ctx, obj); err != nil {
		return err
	}
	boot, err := r.bootConfiguration(ctx, obj, server)
	if err != nil {
		return err
	}
	if problem := allocator.PowerProblem(obj.Spec.Power); problem != "" {
		boot = metav1.Condition{Reason: metalv1.ReasonInvalidSpec, Message: "spec.power: " + problem}
	}
	name := client.ObjectKeyFromObject(obj)
	r.said.forget(name)
	r.withdraw(name) // it may have waited when its server was found
	if err := r.reportBound(ctx, obj, server, boot); err != nil {
		return err
	}
	r.tellPower(obj, server)
	return nil
}

// name writes the server's name into the claim, and with it the finalizer: a claim without a server needs none. If the claim is deleted
// before, the mark on the Server still tells whose it was, and it is cleaned.
func (r *Reconciler) name(ctx context.Context, obj *metalv1.ServerClaim, server *metalv1.Server) error {
	before := obj.DeepCopy()
	if !controllerutil.AddFinalizer(obj, metalv1.FinalizerServerClaim) && obj.Spec.ServerRef != nil {
		return nil
	}
	obj.Spec.ServerRef = &metalv1.LocalObjectReference{Name: server.Name}
	return r.patch(ctx, obj, before)
}

func (r *Reconciler) patch(ctx context.Context, obj, before *metalv1.ServerClaim) error {
	return r.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}
