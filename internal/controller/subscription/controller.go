package subscription

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/outcome"
	"github.com/farrier-dev/farrier/internal/controller/wake"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reconciler keeps subscriptions.
type Reconciler struct {
	client.Client
	Fleet *fleet.Fleet
	// Registry is one of its own: it shall not keep an actor alive whose BMC is gone.
	Registry *connection.Registry
	// Wake is the way in for observations.
	Wake  wake.Source
	Paths bmcevents.Paths
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
	known map[string]*memory // by name
	jobs  int
	told  tellings
}

// Reconcile looks at one BMC.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.BMC
	if err := r.Get(ctx, req.NamespacedName, &obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, err
	}
	result, err := r.reconcile(ctx, obj.DeepCopy())
	return outcome.Handle(ctx, result, err)
}

func (r *Reconciler) reconcile(ctx context.Context, obj *metalv1.BMC) (reconcile.Result, error) {
	if !obj.DeletionTimestamp.IsZero() || obj.Annotations[metalv1.AnnotationOperation] == metalv1.OperationIgnore {
		return reconcile.Result{}, nil
	}
	if r.URL == "" && obj.Status.EventsSubscriptionLink == "" && obj.Status.MetricsReportSubscriptionLink == "" {
		return reconcile.Result{}, nil
	}
	key, err := r.keyOf(ctx, obj)
	if err != nil {
		if !outcome.IsTransient(err) {
			err = nil // the condition Ready says it
		}
		return reconcile.Result{}, err
	}
	if r.Receiver != nil {
		r.Receiver.Listen(string(obj.UID), obj.Name)
	}
	before := obj.DeepCopy()
	wait, err := r.look(obj, key)
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

// look takes the result of the last job, orders the next when it is due, and describes what is
// known. It returns when to come back without being woken.
func (r *Reconciler) look(obj *metalv1.BMC, key fleet.Key) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memory(obj)
	if m.leaving { // the cache has not heard yet
		return 0, nil
	}
	r.Registry.Bind(&r.Wake, obj.Name, key)
	now := r.Clock.Now()
	if !m.take(r.Fleet, key, now) {
		return jobCheck, nil
	}
	if m.found != nil {
		describe(obj, m)
	}
	observation, known := r.Fleet.Observe(key)
	if !known || observation.Sequence == 0 || observation.Err != nil {
		m.absent = m.absent || observation.Err != nil
		return 0, nil
	}
	if wait := m.due().Sub(now); wait > 0 {
		if soon := r.follow(m, key, observation, now); soon > 0 {
			wait = min(wait, soon)
		}
		return wait, nil
	}
	return jobCheck, r.order(m, key, r.URL)
}

// order submits a job, r.mu held; the change of the observation at its end wakes the object.
func (r *Reconciler) order(m *memory, key fleet.Key, base string) error {
	knows := func(string) bool { return false }
	if r.Receiver != nil {
		knows = r.Receiver.Knows
	}
	r.jobs++
	err := m.order(r.Fleet, key, fmt.Sprint("subscription-", r.jobs), &work{paths: r.Paths, uid: m.uid, base: base, knows: knows})
	if errors.Is(err, fleet.ErrUnknownBMC) {
		return nil // the actor ended just now
	}
	return err
}

// memory returns what is known of a BMC; an object made anew begins anew. r.mu is held.
func (r *Reconciler) memory(obj *metalv1.BMC) *memory {
	m := r.known[obj.Name]
	if m == nil || m.uid != string(obj.UID) {
		m = &memory{uid: string(obj.UID)}
		if r.known == nil {
			r.known = map[string]*memory{}
		}
		r.known[obj.Name] = m
	}
	return m
}

func (r *Reconciler) forget(name string) {
	r.mu.Lock()
	delete(r.known, name)
	r.mu.Unlock()
	r.Registry.Unbind(&r.Wake, name)
	if r.Receiver != nil {
		r.Receiver.Forget(name)
	}
}

// Leave removes the subscriptions of a BMC that is being deleted, while its actor still lives. It says
// whether that is over; if not, a change of the BMC's observation tells when to call again. A BMC that
// does not answer is not waited for: whatever it sends will be answered 404.
func (r *Reconciler) Leave(obj *metalv1.BMC, key fleet.Key) (over bool, err error) {
	if r.Receiver != nil {
		r.Receiver.Forget(obj.Name)
	}
	r.Registry.Unbind(&r.Wake, obj.Name)
	if r.URL == "" && obj.Status.EventsSubscriptionLink == "" && obj.Status.MetricsReportSubscriptionLink == "" {
		return true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memory(obj)
	m.leaving = true
	ended := m.take(r.Fleet, key, r.Clock.Now())
	observation, known := r.Fleet.Observe(key)
	switch {
	case !known, observation.Err != nil:
		return true, nil
	case observation.Sequence == 0, !ended:
		return false, nil
	case m.farewell:
		return true, nil // as well as it could be done
	}
	if err := r.order(m, key, ""); err != nil {
		return false, err
	}
	m.farewell = true
	return m.job == "", nil
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("subscription").
		For(&metalv1.BMC{}).
		WatchesRawSource(&r.Wake).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Workers}).
		Complete(r)
}
