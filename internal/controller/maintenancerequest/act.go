package maintenancerequest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// ReasonRequested is the reason of the event that tells of a request.
const ReasonRequested = "MaintenanceRequested"

// Ask creates the maintenances that are missing, and returns them. What a person has named is waited for.
func Ask(ctx context.Context, c client.Client, r Request, s Standing) ([]metalv1.ObjectReference, error) {
	var created []metalv1.ObjectReference
	for _, server := range s.Servers {
		if !server.missing() {
			continue
		}
		m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{
			Namespace: server.Ref.Namespace, Name: server.Ref.Name,
			Annotations: map[string]string{metalv1.AnnotationReason: r.Kind + " " + r.Owner.GetName()},
		}}
		m.Spec.ServerRef, m.Spec.Policy = metalv1.LocalObjectReference{Name: server.Name}, r.Policy
		if err := controllerutil.SetControllerReference(r.Owner, m, c.Scheme()); err != nil {
			return created, fmt.Errorf("own the maintenance: %w", err)
		}
		if err := c.Create(ctx, m, client.FieldOwner(metalv1.FieldManager)); err != nil {
			return created, fmt.Errorf("create ServerMaintenance %s/%s: %w", m.Namespace, m.Name, err)
		}
		created = append(created, server.Ref)
	}
	return created, nil
}

// End ends the maintenances that were created for a request, and no others: also those of servers that are no longer
// asked for, as far as the spec of the owner names them.
func End(ctx context.Context, c client.Client, r Request) error {
	for _, ref := range append(r.Own(), r.Named...) {
		if err := end(ctx, c, r.Owner, ref); err != nil {
			return fmt.Errorf("end ServerMaintenance %s/%s: %w", ref.Namespace, ref.Name, err)
		}
	}
	return nil
}

func end(ctx context.Context, c client.Client, owner client.Object, ref metalv1.ObjectReference) error {
	var m metalv1.ServerMaintenance
	err := c.Get(ctx, client.ObjectKey(ref), &m)
	if apierrors.IsNotFound(err) || err == nil && (!metav1.IsControlledBy(&m, owner) || !m.DeletionTimestamp.IsZero()) {
		return nil
	}
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(c.Delete(ctx, &m, client.Preconditions{UID: &m.UID}))
}
