package firmwareversion

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	eventsender "github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/firmwareimage"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reconciler updates firmware for the objects of one kind.
type Reconciler struct {
	client.Client
	Kind     *Kind
	Fleet    *fleet.Fleet
	Registry *connection.Registry
	// KeyOf is the BMC of a target of the kind, as the controller of those knows it.
	KeyOf    func(target string) (fleet.Key, bool)
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Namespace is the manager's own: the maintenances that are asked for live there.
	Namespace string
	// EnforcePowerOff lets a machine be forced off that does not shut down.
	EnforcePowerOff bool
	// Images fetches images for BMCs.
	Images *firmwareimage.Store
	// Wake is the way in for observations.
	Wake trigger.Source
	// Workers is how many objects are decided at the same time.
	Workers int

	memories memories
	once     sync.Once
	id       string
}

// process names this process among those that acted for an object.
func (r *Reconciler) process() string {
	r.once.Do(func() { r.id = string(uuid.NewUUID()) })
	return r.id
}

// Reconcile looks at one object.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	obj := r.Kind.new()
	if err := r.Get(ctx, req.NamespacedName, obj); apierrors.IsNotFound(err) {
		r.Images.Done(r.Kind.Name + "/" + req.Name)
		r.Registry.Release(&r.Wake, req.Name) // a look at an object that the cache still had may have bound it once more
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	result, err := r.reconcile(ctx, r.Kind.of(obj))
	return reconcileerror.Handle(ctx, result, err)
}

func (r *Reconciler) reconcile(ctx context.Context, i *item) (reconcile.Result, error) {
	operation, _ := metalv1.OperationOf(i)
	if i.deleting() && (progressOf(i).abandonable() || operation == metalv1.OperationAllowInProgressDelete) {
		return reconcile.Result{}, r.finalize(ctx, i)
	}
	if metalv1.IsIgnored(i) {
		return reconcile.Result{}, nil
	}
	if done, err := r.adopt(ctx, i); done || err != nil {
		return reconcile.Result{}, err
	}
	v, key, err := r.gather(ctx, i)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := v.decide()
	if err := r.act(ctx, v, key, &p); err != nil {
		return reconcile.Result{}, err
	}
	if !p.quiet {
		if err := r.report(ctx, v, &p); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: p.after}, nil
}

// adopt sets the finalizer and takes the operation. Its write wakes the object again. What allows deletion stays as long
// as the object does; what allows a change, which admission asks for, as long as something is under way that it could disturb.
func (r *Reconciler) adopt(ctx context.Context, i *item) (bool, error) {
	before := i.copied()
	changed := !i.deleting() && controllerutil.AddFinalizer(i.Object, i.kind.finalizer)
	operation, asked := metalv1.OperationOf(i)
	known := true
	annotations := i.GetAnnotations()
	switch operation {
	case metalv1.OperationAllowInProgressDelete:
		asked = false
	case metalv1.OperationAllowInProgressUpdate:
		asked = !progressOf(i).active()
	case metalv1.OperationRetry, metalv1.OperationRetryPropagated:
		if p := progressOf(i); p != nil && p.Step == stepFailed {
			delete(annotations, annotationProgress)
		} else if p.active() {
			p.NotBefore = nil
			annotations[annotationProgress] = p.String()
		}
		r.memories.forget(i.GetUID())
		r.Images.Again(i.owner())
	case metalv1.OperationRollback:
		return true, r.rollback(ctx, i)
	default:
		known = false
	}
	if asked {
		delete(annotations, metalv1.AnnotationOperation)
		i.SetAnnotations(annotations)
	}
	if !changed && !asked {
		return false, nil
	}
	if err := r.patch(ctx, i, before); err != nil {
		return true, err
	}
	if asked && !known {
		r.event(i, corev1.EventTypeWarning, metalv1.ReasonUnsupportedOperation, fmt.Sprintf("Operation %.64q is not supported on %s", operation, i.kind.Name))
	}
	return true, nil
}

// rollback takes the operation of that name.
func (r *Reconciler) rollback(ctx context.Context, i *item) error {
	known, err := r.catalog(ctx)
	if err != nil {
		return err
	}
	before := i.copied()
	annotations := i.GetAnnotations()
	to, refused := rollBack(i, known, r.Clock.Now())
	if delete(annotations, metalv1.AnnotationOperation); to != nil {
		annotations[annotationProgress] = to.String()
	}
	i.SetAnnotations(annotations)
	if err := r.patch(ctx, i, before); err != nil {
		return err
	}
	if to == nil {
		r.event(i, corev1.EventTypeWarning, reasonRollbackRefused, "No rollback: "+refused)
	}
	return nil
}

// finalize lets an object go, with what it has asked for.
func (r *Reconciler) finalize(ctx context.Context, i *item) error {
	if !controllerutil.ContainsFinalizer(i.Object, i.kind.finalizer) {
		return nil
	}
	v := &view{item: i}
	if i.target == "" {
		return r.release(ctx, i, nil)
	}
	if _, err := r.gatherTarget(ctx, v); err != nil {
		return err
	}
	return r.release(ctx, i, v.servers)
}

// release ends what an object holds, and its finalizer.
func (r *Reconciler) release(ctx context.Context, i *item, servers []string) error {
	if err := maintenancerequest.End(ctx, r.Client, r.request(i, servers)); err != nil {
		return err
	}
	if key, bound := r.Registry.Key(&r.Wake, i.GetName()); bound {
		r.Fleet.Unlock(key, i.holder())
	}
	r.Registry.Release(&r.Wake, i.GetName())
	r.memories.forget(i.GetUID())
	r.Images.Done(i.owner())
	before := i.copied()
	controllerutil.RemoveFinalizer(i.Object, i.kind.finalizer)
	return client.IgnoreNotFound(r.patch(ctx, i, before))
}

func (r *Reconciler) event(i *item, kind, reason, message string) {
	eventsender.Send(r.Recorder, i.Object, nil, kind, reason, message)
}

// patch writes what changed of spec and metadata, and only if nobody wrote in between.
func (r *Reconciler) patch(ctx context.Context, i *item, before client.Object) error {
	return r.Patch(ctx, i.Object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}

// unfinished are the objects that another FirmwareImage may concern: those whose version is not there.
func (r *Reconciler) unfinished(ctx context.Context, _ client.Object) (requests []reconcile.Request) {
	list := r.Kind.newList()
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache has no error of its own
	}
	for _, i := range r.Kind.items(list) {
		if i.status.State != metalv1.VersionStateCompleted {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(i)})
		}
	}
	return requests
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	all := func(target func(client.Object) string) handler.EventHandler {
		return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			name := target(obj)
			if name == "" {
				return nil
			}
			return index.Requests(ctx, r, r.Kind.newList(), client.MatchingFields{r.Kind.byTarget: name})
		})
	}
	r.wakeForImages()
	b := ctrl.NewControllerManagedBy(mgr).
		Named(r.Kind.controller).
		For(r.Kind.new()).
		Owns(&metalv1.ServerMaintenance{}).
		Watches(r.Kind.new(), all(func(obj client.Object) string { return r.Kind.of(obj).target })).
		Watches(&metalv1.Server{}, all(func(obj client.Object) string {
			server, ok := obj.(*metalv1.Server)
			switch {
			case !ok:
				return ""
			case r.Kind.ofBMC:
				return nameOf(server.Spec.BMCRef)
			}
			return server.Name
		}))
	b = b.Watches(&farrierv1.FirmwareImage{}, handler.EnqueueRequestsFromMapFunc(r.unfinished))
	if r.Kind.ofBMC {
		b = b.Watches(&metalv1.BMC{}, all(client.Object.GetName))
	}
	return b.WatchesRawSource(&r.Wake).WithOptions(objectqueue.Options(r.Workers)).Complete(r)
}
