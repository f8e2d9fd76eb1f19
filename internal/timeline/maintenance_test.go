package timeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/operator"
)

// TestAMaintenanceSaysWhatItIsFor: of each kind that requests one.
func TestAMaintenanceSaysWhatItIsFor(t *testing.T) {
	updating := []metav1.Condition{{
		Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Updating", Message: "Following the update since 12:00:05 UTC", LastTransitionTime: metav1.NewTime(after(5 * time.Second)),
	}}
	meta := metav1.ObjectMeta{Name: "v", UID: "v"}
	for kind, obj := range map[string]client.Object{
		"BIOSSettings": &metalv1.BIOSSettings{ObjectMeta: meta, Status: metalv1.BIOSSettingsStatus{Conditions: updating}},
		"BIOSVersion":  &metalv1.BIOSVersion{ObjectMeta: meta, Status: metalv1.VersionStatus{Conditions: updating}},
		"BMCVersion":   &metalv1.BMCVersion{ObjectMeta: meta, Status: metalv1.VersionStatus{Conditions: updating}},
		"BMCSettings":  &metalv1.BMCSettings{ObjectMeta: meta, Status: metalv1.BMCSettingsStatus{Conditions: updating}},
		"Other":        nil,
	} {
		t.Run(kind, func(t *testing.T) {
			server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
			server.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "farrier-system", Name: "m"}
			m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "farrier-system", Name: "m", OwnerReferences: []metav1.OwnerReference{{
				APIVersion: metalv1.GroupVersion.String(), Kind: kind, Name: "v", UID: "v", Controller: ptr.To(true),
			}}}}
			api := controllertest.NewAPI(t, server, m)
			if obj != nil {
				api.Add(t, obj)
			}
			told := &Timeline{}
			Source{API: api, Namespace: "farrier-system"}.server(t.Context(), told, server, operator.Boots{})
			for _, missing := range told.Missing {
				if !strings.HasPrefix(missing, "events of ") { // this API finds none by their object
					t.Errorf("missing: %s", missing)
				}
			}
			found := slices.ContainsFunc(told.Entries, func(e Entry) bool {
				return e.Object == kind+" v" && e.What == "not Ready" && strings.Contains(e.Detail, "Following the update")
			})
			if found != (obj != nil) {
				t.Errorf("entries %+v", told.Entries)
			}
			if !slices.ContainsFunc(told.Entries, func(e Entry) bool { return e.Object == "ServerMaintenance farrier-system/m" }) {
				t.Errorf("without the maintenance: %+v", told.Entries)
			}
		})
	}
}
