package maintenance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	eventsender "github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Reconciler grants servers to maintenances.
type Reconciler struct {
	client.Client
	// APIReader reads past the caches where believing one that lags would let somebody in without approval.
	APIReader client.Reader
	Recorder  events.EventRecorder
	// Workers is how many maintenances are decided at the same time.
	Workers int
}

// Reconcile looks at one maintenance.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.ServerMaintenance
	if err := r.Get(ctx, req.NamespacedName, &obj); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	err := r.reconcile(ctx, obj.DeepCopy())
	return reconcileerror.Handle(ctx, reconcile.Result{}, err)
}

func (r *Reconciler) reconcile(ctx context.Context, obj *metalv1.ServerMaintenance) error {
	if !obj.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, obj)
	}
	if metalv1.IsIgnored(obj) {
		return nil
	}
	if done, err := r.adopt(ctx, obj); done || err != nil {
		return err
	}
	v, err := r.gather(ctx, obj)
	if err != nil {
		return err
	}
	if err := r.askOwner(ctx, v.claim, v.rivals); err != nil {
		return err
	}
	decided := v.decide()
	if err := r.act(ctx, v, decided); err != nil {
		return err
	}
	return r.report(ctx, obj, decided)
}

// adopt sets the finalizer and takes the operation: retry is what every reconcile does anyway, and of others
// there are none. Its write wakes the maintenance again.
func (r *Reconciler) adopt(ctx context.Context, obj *metalv1.ServerMaintenance) (bool, error) {
	before := obj.DeepCopy()
	added := controllerutil.AddFinalizer(obj, metalv1.FinalizerServerMaintenance)
	operation, asked := metalv1.OperationOf(obj)
	delete(obj.Annotations, metalv1.AnnotationOperation)
	if !added && !asked {
		return false, nil
	}
	if err := r.patch(ctx, obj, before); err != nil {
		return true, err
	}
	if asked && operation != metalv1.OperationRetry {
		eventsender.Send(r.Recorder, obj, nil, corev1.EventTypeWarning, metalv1.ReasonUnsupportedOperation,
			fmt.Sprintf("Operation %.64q is not supported on a ServerMaintenance", operation))
	}
	return true, nil
}

// gather reads everything that the decision looks at.
func (r *Reconciler) gather(ctx context.Context, obj *metalv1.ServerMaintenance) (*view, error) {
	v := &view{obj: obj}
	var server metalv1.Server
	err := r.Get(ctx, client.ObjectKey{Name: obj.Spec.ServerRef.Name}, &server)
	switch {
	case err == nil:
		v.server = &server
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("Server %q: %w", obj.Spec.ServerRef.Name, err)
	}
	if v.claim, err = r.claimOf(ctx, v.server); err != nil {
		return nil, err
	}
	if v.rivals, err = r.rivals(ctx, obj.Spec.ServerRef.Name, v.server); err != nil {
		return nil, err
	}
	v.boot, err = r.readBoot(ctx, obj)
	return v, err
}

// claimOf reads the claim that has a server. That there is none lets a maintenance in without asking, so it is
// not believed of a cache that may lag.
func (r *Reconciler) claimOf(ctx context.Context, server *metalv1.Server) (*metalv1.ServerClaim, error) {
	if server == nil || server.Spec.ServerClaimRef == nil {
		return nil, nil
	}
	ref := server.Spec.ServerClaimRef
	owner := server.Annotations[metalv1.AnnotationClaimedBy]
	for _, reader := range []client.Reader{r, r.APIReader} {
		var claim metalv1.ServerClaim
		err := reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &claim)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("ServerClaim %s/%s: %w", ref.Namespace, ref.Name, err)
		}
		if err == nil && claim.DeletionTimestamp.IsZero() && (owner == "" || owner == string(claim.UID)) {
			return &claim, nil
		}
	}
	return nil, nil
}

// rivals lists the maintenances of a server that have not ended: one that is being deleted ends when the server
// has let go of it.
func (r *Reconciler) rivals(ctx context.Context, name string, server *metalv1.Server) ([]metalv1.ServerMaintenance, error) {
	var list metalv1.ServerMaintenanceList
	if err := r.List(ctx, &list, client.MatchingFields{index.MaintenanceByServer: name}); err != nil {
		return nil, fmt.Errorf("list the ServerMaintenances of Server %q: %w", name, err)
	}
	var rivals []metalv1.ServerMaintenance
	for i := range list.Items {
		if m := &list.Items[i]; m.DeletionTimestamp.IsZero() || server != nil && holds(server, m) {
			rivals = append(rivals, *m)
		}
	}
	return rivals, nil
}

// finalize lets a maintenance go when its server has: until then the server finds in it what has to
// be undone.
func (r *Reconciler) finalize(ctx context.Context, obj *metalv1.ServerMaintenance) error {
	if !controllerutil.ContainsFinalizer(obj, metalv1.FinalizerServerMaintenance) {
		return nil
	}
	v, err := r.gather(ctx, obj)
	if err != nil {
		return err
	}
	if v.server != nil && holds(v.server, obj) {
		return r.report(ctx, obj, verdict{
			state: metalv1.ServerMaintenanceStateInMaintenance, reason: metalv1.ReasonMaintenanceEnding,
			message: fmt.Sprintf("Restoring Server %q to its state before the maintenance", v.server.Name), keep: true,
		})
	}
	if err := r.askOwner(ctx, v.claim, v.rivals); err != nil {
		return err
	}
	if v.boot != nil && controls(obj, v.boot) {
		if err := r.Delete(ctx, v.boot, client.Preconditions{UID: &v.boot.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove ServerBootConfiguration %s/%s: %w", v.boot.Namespace, v.boot.Name, err)
		}
	}
	before := obj.DeepCopy()
	controllerutil.RemoveFinalizer(obj, metalv1.FinalizerServerMaintenance)
	return client.IgnoreNotFound(r.patch(ctx, obj, before))
}

// patch writes what changed of spec and metadata, and only if nobody wrote in between.
func (r *Reconciler) patch(ctx context.Context, obj, before *metalv1.ServerMaintenance) error {
	return r.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}
