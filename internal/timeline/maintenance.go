package timeline

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// maintenance reads the maintenance that has a server, and the settings or the update of firmware that it was requested for: their conditions
// say which step is under way.
func (s Source) maintenance(ctx context.Context, t *Timeline, server *metalv1.Server) []about {
	ref := server.Spec.ServerMaintenanceRef
	if ref == nil {
		return nil
	}
	var m metalv1.ServerMaintenance
	if !s.get(ctx, t, "ServerMaintenance", client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &m) {
		return nil // gone, or another operator's
	}
	objects := []about{{Object: &m, kind: "ServerMaintenance", conditions: m.Status.Conditions}}
	owner := metav1.GetControllerOf(&m)
	if owner == nil {
		return objects
	}
	o := about{kind: owner.Kind}
	var conditions *[]metav1.Condition
	switch owner.Kind {
	case "BIOSSettings":
		obj := &metalv1.BIOSSettings{}
		o.Object, conditions = obj, &obj.Status.Conditions
	case "BMCSettings":
		obj := &metalv1.BMCSettings{}
		o.Object, conditions = obj, &obj.Status.Conditions
	case "BIOSVersion":
		obj := &metalv1.BIOSVersion{}
		o.Object, conditions = obj, &obj.Status.Conditions
	case "BMCVersion":
		obj := &metalv1.BMCVersion{}
		o.Object, conditions = obj, &obj.Status.Conditions
	default:
		return objects
	}
	if s.get(ctx, t, owner.Kind, client.ObjectKey{Name: owner.Name}, o.Object) {
		o.conditions = *conditions
		objects = append(objects, o)
	}
	return objects
}
