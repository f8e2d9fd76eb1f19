package bootrelay

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
)

// Relay writes into objects what the manager that leads knows of the boots of Servers that other managers look after.
type Relay struct {
	client.Client
	// Acknowledged reports whether those who answer machines have a boot attempt.
	Acknowledged func(attempt string) bool
	// Alarms are those of all machines. One that is written is cleared.
	Alarms *alarm.Board
	// Elsewhere reports whether another manager looks after a Server.
	Elsewhere func(server *metalv1.Server) bool
	// Wake is told of Servers of which something new is known.
	Wake    trigger.Source
	Workers int
}

// SetupWithManager registers the controller. At its start it looks at all boot attempts and all alarms: what was known before is not told again.
func (r *Relay) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.Add(manager.RunnableFunc(r.begin)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("bootrelay").
		Watches(&metalv1.ServerBootConfiguration{}, handler.EnqueueRequestsFromMapFunc(ofConfig), builder.WithPredicates(predicate.NewPredicateFuncs(waits))).
		WatchesRawSource(&r.Wake).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

// begin looks at all Servers with alarms: these may have been raised while nobody led.
func (r *Relay) begin(context.Context) error {
	for _, server := range r.Alarms.Servers() {
		r.Wake.Wake("", server)
	}
	return nil
}

// waits reports whether a boot configuration has an attempt that is not acknowledged yet.
func waits(obj client.Object) bool {
	config, ok := obj.(*metalv1.ServerBootConfiguration)
	if !ok {
		return false
	}
	a := bootattempt.Of(config)
	return a.Open() && a.Started == nil && !Acknowledged(config, a.ID)
}

func ofConfig(_ context.Context, obj client.Object) []reconcile.Request {
	config, ok := obj.(*metalv1.ServerBootConfiguration)
	if !ok || config.Spec.ServerRef.Name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: config.Spec.ServerRef.Name}}}
}

// Reconcile tells what is known of the boots of one Server.
func (r *Relay) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var server metalv1.Server
	if err := r.Get(ctx, req.NamespacedName, &server); err != nil {
		if err = client.IgnoreNotFound(err); err == nil {
			r.Alarms.Clear(req.Name)
		}
		return reconcile.Result{}, err
	}
	if !r.Elsewhere(&server) {
		return reconcile.Result{}, nil // its controller is in this process, and is woken itself
	}
	err := r.acknowledge(ctx, &server)
	if err == nil {
		err = r.alarm(ctx, server.DeepCopy())
	}
	return reconcileerror.Handle(ctx, reconcile.Result{}, err)
}

// acknowledge says of each boot configuration of a Server that its attempt is known, if it is.
func (r *Relay) acknowledge(ctx context.Context, server *metalv1.Server) error {
	for _, ref := range []*metalv1.ObjectReference{server.Spec.BootConfigurationRef, server.Spec.MaintenanceBootConfigurationRef} {
		if ref == nil {
			continue
		}
		var config metalv1.ServerBootConfiguration
		if err := r.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &config); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("ServerBootConfiguration %s/%s: %w", ref.Namespace, ref.Name, err)
			}
			continue
		}
		attempt := bootattempt.Of(&config)
		if config.Spec.ServerRef.Name != server.Name || !waits(&config) || !r.Acknowledged(attempt.ID) {
			continue
		}
		// Without a lock: the annotation names the attempt, so that it is about no other.
		own := config.DeepCopy()
		if err := r.annotate(ctx, own, &own.ObjectMeta, metalv1.AnnotationBootAcknowledged, attempt.ID); err != nil {
			return err
		}
	}
	return nil
}

// alarm writes the newest alarm of a Server.
func (r *Relay) alarm(ctx context.Context, server *metalv1.Server) error {
	newest, raised := r.Alarms.Of(server.Name)
	if !raised {
		return nil
	}
	text, err := textOf(newest)
	if err != nil {
		return fmt.Errorf("alarm of Server %s: %w", server.Name, err)
	}
	if err := r.annotate(ctx, server, &server.ObjectMeta, metalv1.AnnotationBootAlarm, text); err != nil {
		return err
	}
	r.Alarms.Done(server.Name, newest) // a newer one has woken this controller again
	return nil
}

// annotate writes an annotation of an object, whose metadata is meta and which is the caller's own, unless it has it.
func (r *Relay) annotate(ctx context.Context, obj client.Object, meta *metav1.ObjectMeta, key, value string) error {
	if meta.Annotations[key] == value {
		return nil
	}
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", obj)
	}
	metav1.SetMetaDataAnnotation(meta, key, value)
	if err := r.Patch(ctx, obj, client.MergeFrom(before), client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the annotation %s of %s: %w", key, meta.Name, err))
	}
	return nil
}
