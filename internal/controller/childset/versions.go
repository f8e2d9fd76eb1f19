package childset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/firmwareversion"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

func biosVersionSets() *Kind {
	return row[*metalv1.BIOSVersionSet, *metalv1.BIOSVersion]{
		name: "BIOSVersionSet", child: "BIOSVersion", target: "Server",
		finalizer: metalv1.FinalizerBIOSVersionSet, byTarget: index.BIOSVersionByServer,
		newSet:    func() *metalv1.BIOSVersionSet { return &metalv1.BIOSVersionSet{} },
		newTarget: func() client.Object { return &metalv1.Server{} },
		sets:      func() client.ObjectList { return &metalv1.BIOSVersionSetList{} },
		children:  func() client.ObjectList { return &metalv1.BIOSVersionList{} },
		targets:   func() client.ObjectList { return &metalv1.ServerList{} },
		selector:  func(s *metalv1.BIOSVersionSet) *metav1.LabelSelector { return &s.Spec.ServerSelector },
		newChild: func(target string) *metalv1.BIOSVersion {
			return &metalv1.BIOSVersion{Spec: metalv1.BIOSVersionSpec{ServerRef: &metalv1.LocalObjectReference{Name: target}}}
		},
		targetOf: func(c *metalv1.BIOSVersion) string { return named(c.Spec.ServerRef) },
		bring: func(s *metalv1.BIOSVersionSet, c *metalv1.BIOSVersion) {
			c.Spec.BIOSVersionTemplate = *s.Spec.BIOSVersionTemplate.DeepCopy()
		},
		underWay: func(c *metalv1.BIOSVersion) bool { return firmwareversion.UnderWay(c) },
		policy:   func(c *metalv1.BIOSVersion) metalv1.ServerMaintenancePolicy { return c.Spec.ServerMaintenancePolicy },
		forecast: func(target client.Object, c *metalv1.BIOSVersion) {
			state, reason := firmwareversion.Forecast(&c.Spec.VersionTemplate, biosOf(target))
			c.Status.State, c.Status.ObservedGeneration = state, c.Generation
			c.Status.Conditions = []metav1.Condition{forecastReady(reason)}
		},
		told: func(c *metalv1.BIOSVersion) (state, int64, []metav1.Condition) {
			return stateNamed(string(c.Status.State)), c.Status.ObservedGeneration, c.Status.Conditions
		},
		count: func(s *metalv1.BIOSVersionSet, c counters) {
			st := &s.Status
			st.FullyLabeledServers, st.AvailableBIOSVersion = c.targets, c.available
			st.PendingBIOSVersion, st.InProgressBIOSVersion, st.CompletedBIOSVersion, st.FailedBIOSVersion = c.pending, c.inProgress, c.completed, c.failed
		},
		counted: func(s *metalv1.BIOSVersionSet) (counters, standing) {
			st := &s.Status
			return counters{
				st.FullyLabeledServers, st.AvailableBIOSVersion, st.PendingBIOSVersion, st.InProgressBIOSVersion, st.CompletedBIOSVersion, st.FailedBIOSVersion,
			}, standing{&st.ObservedGeneration, &st.Conditions}
		},
	}.kind()
}

func bmcVersionSets() *Kind {
	return row[*metalv1.BMCVersionSet, *metalv1.BMCVersion]{
		name: "BMCVersionSet", child: "BMCVersion", target: "BMC",
		finalizer: metalv1.FinalizerBMCVersionSet, byTarget: index.BMCVersionByBMC,
		newSet:    func() *metalv1.BMCVersionSet { return &metalv1.BMCVersionSet{} },
		newTarget: func() client.Object { return &metalv1.BMC{} },
		sets:      func() client.ObjectList { return &metalv1.BMCVersionSetList{} },
		children:  func() client.ObjectList { return &metalv1.BMCVersionList{} },
		targets:   func() client.ObjectList { return &metalv1.BMCList{} },
		selector:  func(s *metalv1.BMCVersionSet) *metav1.LabelSelector { return &s.Spec.BMCSelector },
		newChild: func(target string) *metalv1.BMCVersion {
			return &metalv1.BMCVersion{Spec: metalv1.BMCVersionSpec{BMCRef: &metalv1.LocalObjectReference{Name: target}}}
		},
		targetOf: func(c *metalv1.BMCVersion) string { return named(c.Spec.BMCRef) },
		bring: func(s *metalv1.BMCVersionSet, c *metalv1.BMCVersion) {
			c.Spec.BMCVersionTemplate = *s.Spec.BMCVersionTemplate.DeepCopy()
		},
		underWay: func(c *metalv1.BMCVersion) bool { return firmwareversion.UnderWay(c) },
		policy:   func(c *metalv1.BMCVersion) metalv1.ServerMaintenancePolicy { return c.Spec.ServerMaintenancePolicy },
		forecast: func(target client.Object, c *metalv1.BMCVersion) {
			state, reason := firmwareversion.Forecast(&c.Spec.VersionTemplate, firmwareOf(target))
			c.Status.State, c.Status.ObservedGeneration = state, c.Generation
			c.Status.Conditions = []metav1.Condition{forecastReady(reason)}
		},
		told: func(c *metalv1.BMCVersion) (state, int64, []metav1.Condition) {
			return stateNamed(string(c.Status.State)), c.Status.ObservedGeneration, c.Status.Conditions
		},
		count: func(s *metalv1.BMCVersionSet, c counters) {
			st := &s.Status
			st.FullyLabeledBMCs, st.AvailableBMCVersion = c.targets, c.available
			st.PendingBMCVersion, st.InProgressBMCVersion, st.CompletedBMCVersion, st.FailedBMCVersion = c.pending, c.inProgress, c.completed, c.failed
		},
		counted: func(s *metalv1.BMCVersionSet) (counters, standing) {
			st := &s.Status
			return counters{
				st.FullyLabeledBMCs, st.AvailableBMCVersion, st.PendingBMCVersion, st.InProgressBMCVersion, st.CompletedBMCVersion, st.FailedBMCVersion,
			}, standing{&st.ObservedGeneration, &st.Conditions}
		},
	}.kind()
}
