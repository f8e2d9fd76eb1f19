package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// decideCleanup passes through: what it does to the disks is nothing yet, and the record
// says so. The mark of the claim is removed only when the record exists.
func decideCleanup(v *View) Plan {
	var p Plan
	if !v.CleanupRecorded {
		p.RecordCleanup = true
		p.condition(metalv1.ConditionCleaned, metav1.ConditionFalse, reasonCleaning, "The server is being cleaned (mode none)")
		return p
	}
	p.condition(metalv1.ConditionCleaned, metav1.ConditionTrue, "PassedThrough", "Cleanup was passed through (mode none)")
	p.Facts = func(s *metalv1.Server) {
		delete(s.Annotations, metalv1.AnnotationClaimedBy)
		s.Spec.BootConfigurationRef = nil // still the claim's, where the claim's reference was removed by hand
	}
	return p
}
