package subscription

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reconciler keeps subscriptions.
type Reconciler struct {
	client.Client
	Fleet *fleet.Fleet
	// Registry is one of its own: it shall not keep an actor alive whose BMC is gone.
	Registry *connection.Registry
	// Wake triggers the controller when the observation of a BMC object changes, WakeServers that of an inline BMC.
	Wake, WakeServers trigger.Source
	// NamedByBMC reports whether there is a BMC object for the BMC of a Server, which is subscribed then. If it is nil there is none.
	NamedByBMC func(fleet.Key) bool
	Paths      bmcevents.Paths
	// URL is under which BMCs reach the receiver. If it is empty no events are wanted, and what was
	// subscribed before is removed.
	URL string
	// Receiver hears the BMCs; nil with an empty URL.
	Receiver *bmcevents.Receiver
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Workers is how many BMCs are looked at at the same time.
	Workers int

	mu    sync.Mutex
	known map[string]*memory // by subject.id
	jobs  int
	told  eventBudget
}

// Reconcile looks at one BMC.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.BMC
	if err := r.Get(ctx, req.NamespacedName, &obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(subject{id: req.Name, name: req.Name})
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, err
	}
	result, err := r.reconcile(ctx, obj.DeepCopy())
	return reconcileerror.Handle(ctx, result, err)
}

func (r *Reconciler) reconcile(ctx context.Context, obj *metalv1.BMC) (reconcile.Result, error) {
	if !obj.DeletionTimestamp.IsZero() || metalv1.IsIgnored(obj) {
		return reconcile.Result{}, nil
	}
	key, err := r.keyOf(ctx, obj)
	if err != nil {
		if !reconcileerror.IsTransient(err) {
			err = nil // the condition Ready says it
		}
		return reconcile.Result{}, err
	}
	before := obj.DeepCopy()
	wait, err := r.look(ofBMC(obj), key)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !equality.Semantic.DeepEqual(before.Status, obj.Status) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Status().Patch(ctx, obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
		}
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// Leave has the receiver forget the BMCs that this controller has looked after, which has ended. Others may use the receiver.
func (r *Reconciler) Leave() {
	if r.Receiver == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.known {
		r.Receiver.Forget(id)
	}
}

// keyOf finds the actor of a BMC.
func (r *Reconciler) keyOf(ctx context.Context, obj *metalv1.BMC) (fleet.Key, error) {
	address, err := connection.AddressOf(ctx, r.Client, obj)
	if err != nil {
		return "", err
	}
	endpoint, err := connection.Endpoint(address.IP, obj.Spec.Protocol)
	if err != nil {
		return "", err
	}
	return fleet.Key(endpoint.Key()), nil
}

// SetupWithManager registers the controllers and everything that wakes them.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("subscription").
		For(&metalv1.BMC{}).
		WatchesRawSource(&r.Wake).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("subscription-inline").
		For(&metalv1.Server{}).
		WatchesRawSource(&r.WakeServers).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(reconcile.Func(r.reconcileServer))
}
