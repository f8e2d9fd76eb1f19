package bmc

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/outcome"
	"github.com/farrier-dev/farrier/internal/controller/wake"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reconciler keeps BMC objects and their Servers.
type Reconciler struct {
	client.Client
	// APIReader reads credentials, which are not kept in caches.
	APIReader client.Reader
	Fleet     *fleet.Fleet
	Registry  *connection.Registry
	// Wake is the way in for observations.
	Wake wake.Source
	// Workers is how many BMCs are looked at at the same time.
	Workers int
}

// Reconcile looks at one BMC.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.BMC
	if err := r.Get(ctx, req.NamespacedName, &obj); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	err := r.reconcile(ctx, obj.DeepCopy())
	return outcome.Handle(ctx, reconcile.Result{}, err)
}

func (r *Reconciler) reconcile(ctx context.Context, obj *metalv1.BMC) error {
	if !obj.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, obj)
	}
	if done, err := r.adopt(ctx, obj); done || err != nil {
		return err
	}
	if obj.Annotations[metalv1.AnnotationOperation] == metalv1.OperationIgnore {
		return nil
	}
	before := obj.DeepCopy()
	spec, address, err := connection.Resolve(ctx, resolver{r.Client, r.APIReader}, obj)
	if connection.IsTransient(err) {
		return err // says nothing about the BMC
	}
	var observation fleet.Observation
	if err == nil {
		observation = r.observe(obj.Name, spec)
		if err := r.keepServers(ctx, obj, observation); err != nil {
			return err
		}
	}
	describe(obj, address, observation, err)
	if equality.Semantic.DeepEqual(before.Status, obj.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return nil
}

// observe returns what the fleet knows of the BMC, and ends the actor of an address that it had before.
func (r *Reconciler) observe(name string, spec fleet.Spec) fleet.Observation {
	key := r.Fleet.Ensure(spec)
	if old, last := r.Registry.Bind(&r.Wake, name, key); last {
		r.Fleet.Remove(old)
	}
	observation, _ := r.Fleet.Observe(key)
	return observation
}

// adopt sets the finalizer and strips owner references of other installations: the garbage
// collector would delete the BMC with its Endpoint.
func (r *Reconciler) adopt(ctx context.Context, obj *metalv1.BMC) (bool, error) {
	before := obj.DeepCopy()
	added := controllerutil.AddFinalizer(obj, metalv1.FinalizerBMC)
	if stripped := connection.StripOwners(obj, "Endpoint"); !added && !stripped {
		return false, nil
	}
	return true, r.patch(ctx, obj, before)
}

// finalize deletes the Servers of a BMC that nobody has claimed, and ends its actor.
// A claimed Server stays: it is somebody's running machine.
func (r *Reconciler) finalize(ctx context.Context, obj *metalv1.BMC) error {
	if !controllerutil.ContainsFinalizer(obj, metalv1.FinalizerBMC) {
		return nil
	}
	servers, err := r.servers(ctx, obj)
	if err != nil {
		return err
	}
	for i := range servers {
		if servers[i].Spec.ServerClaimRef != nil {
			continue
		}
		// Whoever claims it this very moment shall find it deleted, or we shall find it claimed.
		unchanged := client.Preconditions{UID: &servers[i].UID, ResourceVersion: &servers[i].ResourceVersion}
		if err := r.Delete(ctx, &servers[i], unchanged); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete Server %q: %w", servers[i].Name, err)
		}
	}
	if key, last := r.Registry.Unbind(&r.Wake, obj.Name); last {
		r.Fleet.Remove(key)
	}
	before := obj.DeepCopy()
	controllerutil.RemoveFinalizer(obj, metalv1.FinalizerBMC)
	return client.IgnoreNotFound(r.patch(ctx, obj, before))
}

func (r *Reconciler) patch(ctx context.Context, obj, before *metalv1.BMC) error {
	return r.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}

func (r *Reconciler) servers(ctx context.Context, obj *metalv1.BMC) ([]metalv1.Server, error) {
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.MatchingFields{index.ServerByBMC: obj.Name}); err != nil {
		return nil, fmt.Errorf("list the Servers of BMC %q: %w", obj.Name, err)
	}
	return list.Items, nil
}

// resolver reads Endpoints from the cache and BMCSecrets from the API: credentials are
// read when something changes, so keeping them all in memory buys nothing.
type resolver struct {
	client.Reader
	uncached client.Reader
}

func (r resolver) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, secret := obj.(*metalv1.BMCSecret); secret {
		return r.uncached.Get(ctx, key, obj, opts...)
	}
	return r.Reader.Get(ctx, key, obj, opts...)
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	by := func(field string) handler.MapFunc {
		return func(ctx context.Context, obj client.Object) []reconcile.Request {
			var list metalv1.BMCList
			if err := r.List(ctx, &list, client.MatchingFields{field: obj.GetName()}); err != nil {
				return nil
			}
			requests := make([]reconcile.Request, 0, len(list.Items))
			for i := range list.Items {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
			return requests
		}
	}
	ofServer := func(_ context.Context, obj client.Object) []reconcile.Request {
		server, ok := obj.(*metalv1.Server)
		if !ok || server.Spec.BMCRef == nil {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: server.Spec.BMCRef.Name}}}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("bmc").
		For(&metalv1.BMC{}).
		Watches(&metalv1.Endpoint{}, handler.EnqueueRequestsFromMapFunc(by(index.BMCByEndpoint))).
		WatchesMetadata(&metalv1.BMCSecret{}, handler.EnqueueRequestsFromMapFunc(by(index.BMCBySecret))).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(ofServer), onDeleted()).
		WatchesRawSource(&r.Wake).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Workers}).
		Complete(r)
}
