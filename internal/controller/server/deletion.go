package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
)

// deletionWaits says of a server that is being deleted why it is kept for now; it is empty where nothing keeps it.
//
// A claimed one is kept until its claim lets go of it: as a new Server the same machine would be discovered, from cold,
// under its user. One that has to be cleaned is kept until it is clean: a new Server knows nothing of the data on its disks.
func deletionWaits(s *metalv1.Server) metav1.Condition {
	waits := metav1.Condition{Type: conditionDeletionWaits, Status: metav1.ConditionTrue}
	switch {
	case s.DeletionTimestamp.IsZero():
		return metav1.Condition{}
	case s.Spec.ServerClaimRef != nil:
		ref := s.Spec.ServerClaimRef
		waits.Reason, waits.Message = "Claimed", fmt.Sprintf("The server is deleted when claim %s/%s has let go of it and it is clean", ref.Namespace, ref.Name)
	case s.Annotations[metalv1.AnnotationClaimedBy] != "":
		waits.Reason = "NotClean"
		waits.Message = "The server is deleted when it is clean: made anew it would be handed out with what is on its disks. To delete it all the same, remove the annotation " + metalv1.AnnotationClaimedBy
	default:
		return metav1.Condition{}
	}
	return waits
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
