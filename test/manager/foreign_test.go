package manager

import (
	"fmt"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestAMaintenanceOfAnotherOperator: its kind is installed while the manager runs, the manager may look it up, and lets go of the
// server when the object is gone.
func TestAMaintenanceOfAnotherOperator(t *testing.T) {
	s := newSite(t)
	manager := launch(t, "manager", s.args...)
	manager.isReady()
	s.discover()
	name := s.BMCs()[0].Name + "-system-0"
	patch := fmt.Sprintf(`{"spec":{"serverMaintenanceRef":{"namespace":%q,"name":"flash"}}}`, s.namespace)
	if err := s.Patch(t.Context(), &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	s.leftToOthers(name, metav1.ConditionTrue, "NotFound")

	flash := &unstructured.Unstructured{}
	flash.SetAPIVersion("maintenance.metal.ironcore.dev/v1alpha1")
	flash.SetKind("ServerMaintenance")
	flash.SetNamespace(s.namespace)
	flash.SetName("flash")
	s.create(theirKind())
	eventually(t, "their kind is served", func() error { return s.Create(t.Context(), flash) })
	s.leftToOthers(name, metav1.ConditionTrue, "Found")
	s.serverIs(0, metalv1.ServerStateMaintenance, metalv1.PowerStateOff)
	if err := s.Delete(t.Context(), flash); err != nil {
		t.Fatal(err)
	}
	s.leftToOthers(name, metav1.ConditionFalse, "Ended")
	s.serverIs(0, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	manager.stop()
}

// theirKind is the definition of a maintenance that is not ours, as far as it matters here.
func theirKind() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "servermaintenances.maintenance.metal.ironcore.dev"},
		"spec": map[string]any{
			"group": "maintenance.metal.ironcore.dev", "scope": "Namespaced",
			"names": map[string]any{"kind": "ServerMaintenance", "listKind": "ServerMaintenanceList", "plural": "servermaintenances", "singular": "servermaintenance"},
			"versions": []any{map[string]any{
				"name": "v1alpha1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

// leftToOthers waits for what a Server says of a maintenance that is not ours.
func (s *site) leftToOthers(name string, status metav1.ConditionStatus, reason string) {
	s.t.Helper()
	eventually(s.t, "ForeignMaintenance of "+name, func() error {
		var server metalv1.Server
		if err := s.Get(s.t.Context(), client.ObjectKey{Name: name}, &server); err != nil {
			return err
		}
		if c := apimeta.FindStatusCondition(server.Status.Conditions, "ForeignMaintenance"); c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("want %s because %s, it says %+v", status, reason, c)
		}
		return nil
	})
}
