package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// decideAvailable keeps a server ready for a claim: off, and with nothing of its
// discovery left behind.
func decideAvailable(v *View) Plan {
	var p Plan
	p.condition(metalv1.ConditionDiscovered, metav1.ConditionTrue, "ReportStored", "The report is on record: %s", attemptSuffix(v.Inspected))
	if v.BootInternal || v.Server.Annotations[annotationDiscoveryFailures] != "" {
		p.Remove = true
		p.Facts = func(s *metalv1.Server) {
			s.Spec.BootConfigurationRef = nil
			delete(s.Annotations, annotationDiscoveryFailures)
		}
	}
	if v.on() {
		v.powerOff(&p, "available-"+v.Inspected, true)
	}
	return p
}
