package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Reconcile takes one server a step further: it connects the BMC, gathers a view, decides, acts on the plan and reports.
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
	if metalv1.IsIgnored(server) {
		return reconcile.Result{}, nil
	}
	bmc, err := r.connect(ctx, server)
	if err != nil {
		return reconcile.Result{}, err
	}
	view, err := r.gather(ctx, server, bmc)
	if err != nil {
		return reconcile.Result{}, err
	}
	phase, plan := decide(view)
	if err := r.act(ctx, view, &plan); err != nil {
		return reconcile.Result{}, err
	}
	if plan.Interim {
		return reconcile.Result{}, nil
	}
	if err := r.report(ctx, view, phase, &plan); err != nil {
		return reconcile.Result{}, err
	}
	if late := view.lateAt(phase); view.Now.Before(late) {
		plan.after(view.Now, late)
	}
	return reconcile.Result{RequeueAfter: plan.After}, nil
}

// adopt sets the finalizer and removes owner references that other installations set: the garbage collector would delete a claimed
// server together with its BMC. It clears spec.power, which means nothing: the claim or the maintenance says what the power shall be.
func (r *Reconciler) adopt(ctx context.Context, server *metalv1.Server) (bool, error) {
	if inline := server.Spec.BMC; inline != nil {
		if err := connection.DisownSecret(ctx, r.Client, inline.BMCSecretRef.Name); err != nil {
			return false, err
		}
	}
	before := server.DeepCopy()
	cleared := server.Spec.Power != ""
	server.Spec.Power = ""
	added := server.DeletionTimestamp.IsZero() && controllerutil.AddFinalizer(server, metalv1.FinalizerServer)
	if stripped := connection.StripOwners(server, "BMC"); !added && !stripped && !cleared {
		return false, nil
	}
	return true, r.patch(ctx, server, before)
}

// finalize deletes everything that was made for a deleted server, and then its finalizer.
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
	r.ordered.set(server.UID, "")
	r.deferred.set(server.UID, "")
	before := server.DeepCopy()
	controllerutil.RemoveFinalizer(server, metalv1.FinalizerServer)
	return client.IgnoreNotFound(r.patch(ctx, server, before))
}
