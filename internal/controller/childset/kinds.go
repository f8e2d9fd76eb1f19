package childset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/biossettings"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// Kinds are all kinds of Sets.
func Kinds() []*Kind {
	return []*Kind{biosSettingsSets(), bmcSettingsSets(), biosVersionSets(), bmcVersionSets()}
}

func biosSettingsSets() *Kind {
	return row[*metalv1.BIOSSettingsSet, *metalv1.BIOSSettings]{
		name: "BIOSSettingsSet", child: "BIOSSettings", target: "Server",
		finalizer: metalv1.FinalizerBIOSSettingsSet, byTarget: index.BIOSSettingsByServer,
		newSet:    func() *metalv1.BIOSSettingsSet { return &metalv1.BIOSSettingsSet{} },
		newTarget: func() client.Object { return &metalv1.Server{} },
		sets:      func() client.ObjectList { return &metalv1.BIOSSettingsSetList{} },
		children:  func() client.ObjectList { return &metalv1.BIOSSettingsList{} },
		targets:   func() client.ObjectList { return &metalv1.ServerList{} },
		selector:  func(s *metalv1.BIOSSettingsSet) *metav1.LabelSelector { return &s.Spec.ServerSelector },
		newChild: func(target string) *metalv1.BIOSSettings {
			return &metalv1.BIOSSettings{Spec: metalv1.BIOSSettingsSpec{ServerRef: &metalv1.LocalObjectReference{Name: target}}}
		},
		targetOf: func(c *metalv1.BIOSSettings) string { return named(c.Spec.ServerRef) },
		bring: func(s *metalv1.BIOSSettingsSet, c *metalv1.BIOSSettings) {
			c.Spec.BIOSSettingsTemplate = *s.Spec.BIOSSettingsTemplate.DeepCopy()
		},
		underWay: biossettings.UnderWay,
		policy:   func(c *metalv1.BIOSSettings) metalv1.ServerMaintenancePolicy { return c.Spec.ServerMaintenancePolicy },
		forecast: func(target client.Object, c *metalv1.BIOSSettings) {
			state, reason := biossettings.Forecast(&c.Spec.BIOSSettingsTemplate, biosOf(target))
			c.Status.State, c.Status.ObservedGeneration = state, c.Generation
			c.Status.Conditions = []metav1.Condition{forecastReady(reason)}
		},
		told: func(c *metalv1.BIOSSettings) (state, int64, []metav1.Condition) {
			return stateNamed(string(c.Status.State)), c.Status.ObservedGeneration, c.Status.Conditions
		},
		count: func(s *metalv1.BIOSSettingsSet, c counters) {
			st := &s.Status
			st.FullyLabeledServers, st.AvailableBIOSSettings = c.targets, c.available
			st.PendingBIOSSettings, st.InProgressBIOSSettings, st.CompletedBIOSSettings, st.FailedBIOSSettings = c.pending, c.inProgress, c.completed, c.failed
		},
		counted: func(s *metalv1.BIOSSettingsSet) (counters, standing) {
			st := &s.Status
			return counters{
				st.FullyLabeledServers, st.AvailableBIOSSettings, st.PendingBIOSSettings, st.InProgressBIOSSettings, st.CompletedBIOSSettings, st.FailedBIOSSettings,
			}, standing{&st.ObservedGeneration, &st.Conditions}
		},
	}.kind()
}

// stateNamed is a state by the name that the status of a child has for it. Settings are Applied, versions Completed.
func stateNamed(name string) state {
	switch name {
	case "InProgress":
		return inProgress
	case "Applied", "Completed":
		return completed
	case "Failed":
		return failed
	}
	return pending
}

func named(ref *metalv1.LocalObjectReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}
