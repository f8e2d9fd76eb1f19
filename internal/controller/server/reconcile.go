package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reconcile decides and acts for one server.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var server metalv1.Server
	if err := r.Get(ctx, req.NamespacedName, &server); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	result, err := r.reconcile(ctx, server.DeepCopy())
	return reconcileerror.Handle(ctx, result, err)
}

func (r *Reconciler) reconcile(ctx context.Context, server *metalv1.Server) (reconcile.Result, error) {
	if !server.DeletionTimestamp.IsZero() && deletionWaits(server).Type == "" {
		return reconcile.Result{}, r.finalize(ctx, server)
	}
	if done, err := r.adopt(ctx, server); done || err != nil {
		return reconcile.Result{}, err
	}
	if server.Annotations[metalv1.AnnotationOperation] == metalv1.OperationIgnore {
		return reconcile.Result{}, nil
	}
	view, key, err := r.gather(ctx, server)
	if err != nil {
		return reconcile.Result{}, err
	}
	if a := view.rewound(); a != nil {
		return reconcile.Result{}, r.writeAttempt(ctx, view, &Plan{Attempt: a}) // which wakes the server again
	}
	if done, err := r.operate(ctx, view); done || err != nil {
		return reconcile.Result{}, err
	}
	if underWay, err := r.followReset(ctx, view, key); underWay || err != nil {
		return reconcile.Result{}, err
	}
	phase := derive(view)
	plan := phase.decide(view)
	view.settings(phase.state, &plan)
	view.forgetShutdown(&plan)
	view.awaitTrouble(&plan)
	if err := r.act(ctx, view, key, &plan); err != nil {
		return reconcile.Result{}, err
	}
	if plan.reports(view.Server.Status.State, phase.state) {
		if err := r.report(ctx, view, phase, &plan); err != nil {
			return reconcile.Result{}, err
		}
	}
	if late := view.lateAt(phase); view.Now.Before(late) {
		plan.after(view.Now, late)
	}
	return reconcile.Result{RequeueAfter: plan.After}, nil
}

// adopt sets the finalizer and strips the owner references that other installations set: the garbage
// collector would delete a claimed server together with its BMC.
func (r *Reconciler) adopt(ctx context.Context, server *metalv1.Server) (bool, error) {
	if inline := server.Spec.BMC; inline != nil {
		if err := connection.DisownSecret(ctx, r.Client, inline.BMCSecretRef.Name); err != nil {
			return false, err
		}
	}
	before := server.DeepCopy()
	cleared := clearPower(server)
	added := server.DeletionTimestamp.IsZero() && controllerutil.AddFinalizer(server, metalv1.FinalizerServer)
	if stripped := connection.StripOwners(server, "BMC"); !added && !stripped && !cleared {
		return false, nil
	}
	return true, r.patch(ctx, server, before)
}

// finalize lets a deleted server go, with everything that was made for it.
func (r *Reconciler) finalize(ctx context.Context, server *metalv1.Server) error {
	if !controllerutil.ContainsFinalizer(server, metalv1.FinalizerServer) {
		return nil
	}
	if err := r.removeInternal(ctx, server, true); err != nil {
		return err
	}
	if err := r.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(r.Namespace), client.MatchingLabels(machinerecord.Selector(server.Name))); err != nil {
		return fmt.Errorf("delete the records of the server: %w", err)
	}
	if err := r.unsubscribe(ctx, server); err != nil {
		return err
	}
	r.forget(server.Name)
	r.resets.set(server.UID, "")
	r.submitted.set(server.UID, "")
	r.deferred.set(server.UID, "")
	before := server.DeepCopy()
	controllerutil.RemoveFinalizer(server, metalv1.FinalizerServer)
	return client.IgnoreNotFound(r.patch(ctx, server, before))
}

// operate performs the operation that the server's annotation asks for, and removes it. It says
// whether there was one: its write wakes the server again.
func (r *Reconciler) operate(ctx context.Context, v *View) (bool, error) {
	operation, asked := v.Server.Annotations[metalv1.AnnotationOperation]
	if !asked {
		return false, nil
	}
	change, event := decideOperation(v, operation)
	if change == nil {
		// Once for each reason to wait: the request is looked at with every reconcile.
		if why := operation + " " + event.Message; event.Reason != "" && !r.deferred.is(v.Server.UID, why) {
			r.deferred.set(v.Server.UID, why)
			r.Recorder.Eventf(v.Server, nil, event.Type, event.Reason, event.Reason, "%s", event.Message)
		}
		return false, nil
	}
	before := v.Server.DeepCopy()
	change(v.Server)
	delete(v.Server.Annotations, metalv1.AnnotationOperation)
	if started := v.Server.Annotations[metalv1.AnnotationOperationStarted]; started != before.Annotations[metalv1.AnnotationOperationStarted] {
		r.resets.set(v.Server.UID, started) // before anybody can read of it
	}
	if err := r.patch(ctx, v.Server, before); err != nil {
		return false, err
	}
	r.deferred.set(v.Server.UID, "")
	r.Recorder.Eventf(v.Server, nil, event.Type, event.Reason, event.Reason, "%s", event.Message)
	return true, nil
}

// followReset carries a reset out that was begun, and tells how it ended. It says whether it is under way:
// then nothing else is ordered, which would take its place.
func (r *Reconciler) followReset(ctx context.Context, v *View, key fleet.Key) (underWay bool, _ error) {
	started := v.Server.Annotations[metalv1.AnnotationOperationStarted]
	if started == "" {
		return false, nil
	}
	operation, _, _ := strings.Cut(started, "@")
	reset := resetTypes[operation]
	unknown := Event{corev1.EventTypeWarning, metalv1.ReasonOperationOutcomeUnknown,
		fmt.Sprintf("Operation %.64q was begun; whether it was carried out is not known, and it is not repeated", operation)}
	id := string(v.Server.UID) + "/" + started
	status, submitted := r.Fleet.Command(key, id)
	switch {
	case reset == "", !r.resets.is(v.Server.UID, started), v.System == nil:
		return true, r.endReset(ctx, v, unknown)
	case !submitted && r.submitted.is(v.Server.UID, started): // to an actor that is no more
		return true, r.endReset(ctx, v, unknown)
	case !submitted:
		err := r.Fleet.Submit(key, fleet.Command{ID: id, System: v.System.URI, Kind: fleet.Reset, Reset: reset, Account: account(v.Server)})
		if errors.Is(err, fleet.ErrUnknownBMC) {
			return true, r.endReset(ctx, v, unknown)
		}
		if err == nil {
			r.submitted.set(v.Server.UID, started)
		}
		return true, err
	case !status.State.Ended():
		return true, nil
	case status.State != fleet.Succeeded:
		return true, r.endReset(ctx, v, Event{corev1.EventTypeWarning, "OperationFailed", fmt.Sprintf("Operation %s: %s: %v", operation, status.State, status.Err)})
	}
	message := "Operation " + operation + " is done"
	if status.Sent != "" && status.Sent != reset {
		message += fmt.Sprintf(": the BMC does not offer %s and was told %s", reset, status.Sent)
	}
	return true, r.endReset(ctx, v, Event{corev1.EventTypeNormal, "OperationDone", message})
}

func (r *Reconciler) endReset(ctx context.Context, v *View, event Event) error {
	before := v.Server.DeepCopy()
	delete(v.Server.Annotations, metalv1.AnnotationOperationStarted)
	if err := r.patch(ctx, v.Server, before); err != nil {
		return err
	}
	r.resets.set(v.Server.UID, "")
	r.submitted.set(v.Server.UID, "")
	r.Recorder.Eventf(v.Server, nil, event.Type, event.Reason, event.Reason, "%s", event.Message)
	return nil
}
