package bmcsettings

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	eventsender "github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reconciler applies BMCSettings.
type Reconciler struct {
	client.Client
	// APIReader reads ConfigMaps and Secrets, whose contents are in no cache.
	APIReader client.Reader
	Fleet     *fleet.Fleet
	Registry  *connection.Registry
	// KeyOf is a BMC, as the controller of BMCs knows it.
	KeyOf    func(bmc string) (fleet.Key, bool)
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Namespace is the manager's own: the maintenances that are asked for live there.
	Namespace string
	// Wake is the way in for observations.
	Wake trigger.Source
	// Workers is how many objects are decided at the same time.
	Workers int

	memories memories
}

// Reconcile looks at one BMCSettings.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.BMCSettings
	if err := r.Get(ctx, req.NamespacedName, &obj); apierrors.IsNotFound(err) {
		r.Registry.Release(&r.Wake, req.Name) // a look at an object that the cache still had may have bound it once more
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	result, err := r.reconcile(ctx, obj.DeepCopy())
	return reconcileerror.Handle(ctx, result, err)
}

func (r *Reconciler) reconcile(ctx context.Context, obj *metalv1.BMCSettings) (reconcile.Result, error) {
	operation, _ := metalv1.OperationOf(obj)
	if deleting(obj) && (progressOf(obj, "").abandonable() || operation == metalv1.OperationAllowInProgressDelete) {
		return reconcile.Result{}, r.finalize(ctx, obj)
	}
	if metalv1.IsIgnored(obj) {
		return reconcile.Result{}, nil
	}
	if done, err := r.adopt(ctx, obj); done || err != nil {
		return reconcile.Result{}, err
	}
	v, key, err := r.gather(ctx, obj)
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
func (r *Reconciler) adopt(ctx context.Context, obj *metalv1.BMCSettings) (bool, error) {
	before := obj.DeepCopy()
	changed := !deleting(obj) && controllerutil.AddFinalizer(obj, metalv1.FinalizerBMCSettings)
	operation, asked := metalv1.OperationOf(obj)
	known := true
	p := progressOf(obj, "")
	switch operation {
	case metalv1.OperationAllowInProgressDelete:
		asked = false
	case metalv1.OperationAllowInProgressUpdate:
		asked = !p.active()
	case metalv1.OperationRetry, metalv1.OperationRetryPropagated:
		if p != nil && p.Step == stepFailed {
			delete(obj.Annotations, annotationProgress)
		} else if p.active() && p.NotBefore != nil {
			p.NotBefore = nil
			obj.Annotations[annotationProgress] = p.String()
		}
		r.memories.forget(obj.UID)
	default:
		known = false
	}
	if asked {
		delete(obj.Annotations, metalv1.AnnotationOperation)
	}
	if !changed && !asked {
		return false, nil
	}
	if err := r.patch(ctx, obj, before); err != nil {
		return true, err
	}
	if asked && !known {
		r.event(obj, corev1.EventTypeWarning, metalv1.ReasonUnsupportedOperation, fmt.Sprintf("Operation %.64q is not supported on BMCSettings", operation))
	}
	return true, nil
}

// finalize lets an object go, with what it has asked for.
func (r *Reconciler) finalize(ctx context.Context, obj *metalv1.BMCSettings) error {
	if !controllerutil.ContainsFinalizer(obj, metalv1.FinalizerBMCSettings) {
		return nil
	}
	v := &view{obj: obj}
	if ref := obj.Spec.BMCRef; ref != nil && ref.Name != "" {
		if err := r.gatherServers(ctx, v); err != nil {
			return err
		}
	}
	if err := maintenancerequest.End(ctx, r.Client, r.request(obj, v.maintenance)); err != nil {
		return err
	}
	r.unlock(obj)
	r.Registry.Release(&r.Wake, obj.Name)
	r.memories.forget(obj.UID)
	before := obj.DeepCopy()
	controllerutil.RemoveFinalizer(obj, metalv1.FinalizerBMCSettings)
	return client.IgnoreNotFound(r.patch(ctx, obj, before))
}

func deleting(obj *metalv1.BMCSettings) bool { return !obj.DeletionTimestamp.IsZero() }

func (r *Reconciler) event(obj *metalv1.BMCSettings, kind, reason, message string) {
	eventsender.Send(r.Recorder, obj, nil, kind, reason, message)
}

// patch writes what changed of spec and metadata, and only if nobody wrote in between.
func (r *Reconciler) patch(ctx context.Context, obj, before *metalv1.BMCSettings) error {
	return r.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("bmcsettings").
		For(&metalv1.BMCSettings{}).
		Owns(&metalv1.ServerMaintenance{}).
		Watches(&metalv1.BMCSettings{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			if s, ok := obj.(*metalv1.BMCSettings); ok && s.Spec.BMCRef != nil {
				return r.of(ctx, s.Spec.BMCRef.Name)
			}
			return nil
		})).
		Watches(&metalv1.BMC{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			return append(r.of(ctx, obj.GetName()), r.users(kindBMC)(ctx, obj)...)
		})).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			if s, ok := obj.(*metalv1.Server); ok && s.Spec.BMCRef != nil {
				return r.of(ctx, s.Spec.BMCRef.Name)
			}
			return nil
		})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.users(kindSecret))).
		WatchesRawSource(&r.Wake).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

// of finds the BMCSettings of a BMC.
func (r *Reconciler) of(ctx context.Context, bmc string) []reconcile.Request {
	return index.Requests(ctx, r, &metalv1.BMCSettingsList{}, client.MatchingFields{index.BMCSettingsByBMC: bmc})
}

// users finds the BMCSettings with a variable from an object.
func (r *Reconciler) users(kind string) handler.MapFunc {
	return func(_ context.Context, obj client.Object) (requests []reconcile.Request) {
		for _, name := range r.memories.usersOf(source{kind, obj.GetNamespace(), obj.GetName()}) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
		}
		return requests
	}
}
