package childset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/bmcsettings"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

func bmcSettingsSets() *Kind {
	return row[*metalv1.BMCSettingsSet, *metalv1.BMCSettings]{
		name: "BMCSettingsSet", child: "BMCSettings", target: "BMC",
		finalizer: metalv1.FinalizerBMCSettingsSet, byTarget: index.BMCSettingsByBMC,
		newSet:    func() *metalv1.BMCSettingsSet { return &metalv1.BMCSettingsSet{} },
		newTarget: func() client.Object { return &metalv1.BMC{} },
		sets:      func() client.ObjectList { return &metalv1.BMCSettingsSetList{} },
		children:  func() client.ObjectList { return &metalv1.BMCSettingsList{} },
		targets:   func() client.ObjectList { return &metalv1.BMCList{} },
		selector:  func(s *metalv1.BMCSettingsSet) *metav1.LabelSelector { return &s.Spec.BMCSelector },
		newChild: func(target string) *metalv1.BMCSettings {
			return &metalv1.BMCSettings{Spec: metalv1.BMCSettingsSpec{BMCRef: &metalv1.LocalObjectReference{Name: target}}}
		},
		targetOf: func(c *metalv1.BMCSettings) string { return named(c.Spec.BMCRef) },
		bring: func(s *metalv1.BMCSettingsSet, c *metalv1.BMCSettings) {
			c.Spec.BMCSettingsTemplate = *s.Spec.BMCSettingsTemplate.DeepCopy()
		},
		underWay: bmcsettings.UnderWay,
		policy:   func(c *metalv1.BMCSettings) metalv1.ServerMaintenancePolicy { return c.Spec.ServerMaintenancePolicy },
		forecast: func(target client.Object, c *metalv1.BMCSettings) {
			state, reason := bmcsettings.Forecast(&c.Spec.BMCSettingsTemplate, firmwareOf(target))
			c.Status.State, c.Status.ObservedGeneration = state, c.Generation
			c.Status.Conditions = []metav1.Condition{forecastReady(reason)}
		},
		told: func(c *metalv1.BMCSettings) (state, int64, []metav1.Condition) {
			return stateNamed(string(c.Status.State)), c.Status.ObservedGeneration, c.Status.Conditions
		},
		count: func(s *metalv1.BMCSettingsSet, c counters) {
			st := &s.Status
			st.FullyLabeledBMCs, st.AvailableBMCSettings = c.targets, c.available
			st.PendingBMCSettings, st.InProgressBMCSettings, st.CompletedBMCSettings, st.FailedBMCSettings = c.pending, c.inProgress, c.completed, c.failed
		},
		counted: func(s *metalv1.BMCSettingsSet) (counters, standing) {
			st := &s.Status
			return counters{
				st.FullyLabeledBMCs, st.AvailableBMCSettings, st.PendingBMCSettings, st.InProgressBMCSettings, st.CompletedBMCSettings, st.FailedBMCSettings,
			}, standing{&st.ObservedGeneration, &st.Conditions}
		},
	}.kind()
}
