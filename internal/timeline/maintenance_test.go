package timeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
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

// TestAWaveIsTold to the servers that a rollout concerns, also those that wait for their turn; of others nothing is said.
func TestAWaveIsTold(t *testing.T) {
	begun := after(3 * time.Second)
	policy := &farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "canaries-first"}}
	policy.Status.Rollouts = []farrierv1.Rollout{{
		Kind: "BIOSVersionSet", Name: "bios", Wave: 2, Waves: 3, Waiting: 4, Completed: 2, Reason: "Baking", Message: "wave 2 may begin soon", Since: ptr.To(metav1.NewTime(after(9 * time.Second))),
	}}
	owner := []metav1.OwnerReference{{APIVersion: metalv1.GroupVersion.String(), Kind: "BIOSVersionSet", Name: "bios", UID: "set", Controller: ptr.To(true)}}
	child := func(server string, waits bool) *metalv1.BIOSVersion {
		v := &metalv1.BIOSVersion{ObjectMeta: metav1.ObjectMeta{Name: "bios-" + server, OwnerReferences: owner}}
		v.Spec.ServerRef = &metalv1.LocalObjectReference{Name: server}
		if waits {
			v.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: "WaitingForRollout", LastTransitionTime: metav1.NewTime(begun)}}
		} else {
			rolloutpermit.Set(v, &rolloutpermit.Permit{Begun: begun, Ended: begun.Add(time.Second), Failure: "TaskFailed"})
		}
		return v
	}
	foreign := child("foreign", true)
	foreign.OwnerReferences = nil
	api := controllertest.NewAPI(t, policy, child("waits", true), child("canary", false), foreign)
	for name, want := range map[string][]string{
		"waits":   {"wave 2 of 3 BIOSVersionSet bios Baking, wave 2 may begin soon; 4 wait, 0 in progress, 2 done, 0 failed", "not Ready BIOSVersion bios-waits WaitingForRollout"},
		"canary":  {"turn begins BIOSVersion bios-canary ", "turn ends BIOSVersion bios-canary TaskFailed"},
		"foreign": nil, "unconcerned": nil,
	} {
		told := &Timeline{}
		Source{API: api, Namespace: "farrier-system"}.server(t.Context(), told, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}}, operator.Boots{})
		var lines []string
		for _, e := range told.Entries {
			lines = append(lines, e.What+" "+e.Object+" "+e.Detail)
		}
		for _, line := range want {
			if !slices.Contains(lines, line) {
				t.Errorf("%s: %q is not in %q", name, line, lines)
			}
		}
		if want == nil && slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "bios") }) {
			t.Errorf("%s: %q", name, lines)
		}
	}
}
