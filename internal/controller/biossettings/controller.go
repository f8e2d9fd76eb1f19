package biossettings

import (
	"context"
	"fmt"
	"slices"

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
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reconciler applies BIOSSettings.
type Reconciler struct {
	client.Client
	Fleet    *fleet.Fleet
	Registry *connection.Registry
	// KeyOf is the BMC of a Server, as the controller of Servers knows it.
	KeyOf    func(server string) (fleet.Key, bool)
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Namespace is the manager's own: the maintenances that are asked for live there.
	Namespace string
	// EnforcePowerOff lets a machine be forced off that does not shut down.
	EnforcePowerOff bool
	// Wake is the way in for observations.
	Wake trigger.Source
	// Workers is how many objects are decided at the same time.
	Workers int

	memories memories
}

// Reconcile looks at one BIOSSettings.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.BIOSSettings
	if err := r.Get(ctx, req.NamespacedName, &obj); apierrors.IsNotFound(err) {
		r.Registry.Release(&r.Wake, req.Name) // a look at an object that the cache still had may have bound it once more
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	result, err := r.reconcile(ctx, obj.DeepCopy())
	return reconcileerror.Handle(ctx, result, err)
}

func (r *Reconciler) reconcile(ctx context.Context, obj *metalv1.BIOSSettings) (reconcile.Result, error) {
	operation, _ := metalv1.OperationOf(obj)
	deleting := deleting(obj)
	if deleting && (progressOf(obj).abandonable() || operation == metalv1.OperationAllowInProgressDelete) {
		return reconcile.Result{}, r.finalize(ctx, obj)
	}
	if metalv1.IsIgnored(obj) {
		return reconcile.Result{}, nil
	}
	if done, err := r.adopt(ctx, obj, deleting); done || err != nil {
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
func (r *Reconciler) adopt(ctx context.Context, obj *metalv1.BIOSSettings, deleting bool) (bool, error) {
	before := obj.DeepCopy()
	changed := !deleting && controllerutil.AddFinalizer(obj, metalv1.FinalizerBIOSSettings)
	operation, asked := metalv1.OperationOf(obj)
	known := true
	switch operation {
	case metalv1.OperationAllowInProgressDelete:
		asked = false
	case metalv1.OperationAllowInProgressUpdate:
		asked = !progressOf(obj).active()
	case metalv1.OperationRetry, metalv1.OperationRetryPropagated:
		if p := progressOf(obj); p != nil && p.Step == stepFailed {
			// What it has sent may wait at the BMC still, and is no stranger's.
			obj.Annotations[annotationProgress] = (&progress{Step: stepFailed, Since: p.Since, Wrote: p.Wrote}).String()
		} else if p.active() {
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
		r.event(obj, corev1.EventTypeWarning, metalv1.ReasonUnsupportedOperation, fmt.Sprintf("Operation %.64q is not supported on BIOSSettings", operation))
	}
	return true, nil
}

// finalize lets an object go, with what it has asked for.
func (r *Reconciler) finalize(ctx context.Context, obj *metalv1.BIOSSettings) error {
	if !controllerutil.ContainsFinalizer(obj, metalv1.FinalizerBIOSSettings) {
		return nil
	}
	if err := maintenancerequest.End(ctx, r.Client, r.request(obj)); err != nil {
		return err
	}
	if key, bound := r.Registry.Key(&r.Wake, obj.Name); bound {
		r.Fleet.Unlock(key, holder(obj))
	}
	r.Registry.Release(&r.Wake, obj.Name)
	r.memories.forget(obj.UID)
	before := obj.DeepCopy()
	controllerutil.RemoveFinalizer(obj, metalv1.FinalizerBIOSSettings)
	return client.IgnoreNotFound(r.patch(ctx, obj, before))
}

// gather reads everything that decisions look at, and has the BMC to itself while something is under way.
func (r *Reconciler) gather(ctx context.Context, obj *metalv1.BIOSSettings) (*view, fleet.Key, error) {
	v := &view{now: r.Clock.Now(), obj: obj, flow: flowOf(obj), asked: askedFor(obj), progress: progressOf(obj), enforce: r.EnforcePowerOff, deleting: deleting(obj), rollout: rolloutpermit.Waits(obj)}
	if obj.Spec.ServerRef == nil || obj.Spec.ServerRef.Name == "" {
		return v, "", nil
	}
	var server metalv1.Server
	if err := r.Get(ctx, client.ObjectKey{Name: obj.Spec.ServerRef.Name}, &server); apierrors.IsNotFound(err) {
		return v, "", nil
	} else if err != nil {
		return nil, "", fmt.Errorf("Server %q: %w", obj.Spec.ServerRef.Name, err)
	}
	v.server = &server
	var err error
	if v.first, err = r.firstOf(ctx, obj); err != nil {
		return nil, "", err
	}
	if v.maintenance, err = maintenancerequest.Look(ctx, r.Client, r.request(obj)); err != nil {
		return nil, "", err
	}
	key, known := r.KeyOf(server.Name)
	if !known {
		return v, "", nil
	}
	if old, last := r.Registry.Bind(&r.Wake, obj.Name, key); last {
		r.Fleet.Remove(old)
	}
	r.observe(v, key)
	if v.maintenance.Granted() && v.progress.active() {
		v.locked = r.Fleet.Lock(key, holder(obj), lockTime)
	} else {
		r.Fleet.Unlock(key, holder(obj))
	}
	return v, key, nil
}

// observe fills in what the BMC said, and what became of jobs and commands.
func (r *Reconciler) observe(v *view, key fleet.Key) {
	observation, _ := r.Fleet.Observe(key)
	v.unreachable = observation.Err
	if at, _ := connection.SystemOf(v.server, observation.Systems); at >= 0 && !observation.Systems[at].Seen.IsZero() {
		v.system = &observation.Systems[at]
		if v.unreachable == nil {
			v.unreachable = v.system.Err
		}
	}
	v.looked, v.busy = r.memories.take(v.obj.UID, r.Fleet, key)
	if v.progress.active() {
		v.power, _ = r.Fleet.Command(key, v.powerID())
	}
}

// firstOf names the BIOSSettings that has the server before this one, if one has.
func (r *Reconciler) firstOf(ctx context.Context, obj *metalv1.BIOSSettings) (string, error) {
	var list metalv1.BIOSSettingsList
	if err := r.List(ctx, &list, client.MatchingFields{index.BIOSSettingsByServer: obj.Spec.ServerRef.Name}); err != nil {
		return "", fmt.Errorf("list the BIOSSettings of Server %q: %w", obj.Spec.ServerRef.Name, err)
	}
	slices.SortFunc(list.Items, func(a, b metalv1.BIOSSettings) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return slices.Compare([]string{a.Name}, []string{b.Name})
	})
	if len(list.Items) == 0 || list.Items[0].UID == obj.UID {
		return "", nil
	}
	return list.Items[0].Name, nil
}

func deleting(obj *metalv1.BIOSSettings) bool { return !obj.DeletionTimestamp.IsZero() }

func (r *Reconciler) event(obj *metalv1.BIOSSettings, kind, reason, message string) {
	eventsender.Send(r.Recorder, obj, nil, kind, reason, message)
}

// patch writes what changed of spec and metadata, and only if nobody wrote in between.
func (r *Reconciler) patch(ctx context.Context, obj, before *metalv1.BIOSSettings) error {
	return r.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("biossettings").
		For(&metalv1.BIOSSettings{}).
		Owns(&metalv1.ServerMaintenance{}).
		Watches(&metalv1.BIOSSettings{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			if s, ok := obj.(*metalv1.BIOSSettings); ok && s.Spec.ServerRef != nil {
				return r.of(ctx, s.Spec.ServerRef.Name)
			}
			return nil
		})).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			return r.of(ctx, obj.GetName())
		})).
		WatchesRawSource(&r.Wake).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

// of finds the BIOSSettings of a server.
func (r *Reconciler) of(ctx context.Context, server string) []reconcile.Request {
	return index.Requests(ctx, r, &metalv1.BIOSSettingsList{}, client.MatchingFields{index.BIOSSettingsByServer: server})
}
