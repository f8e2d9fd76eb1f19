package server

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// decideError waits for a person.
func decideError(v *View) Plan {
	var p Plan
	if v.hasTaint(metalv1.TaintNotClean) {
		p.condition(metalv1.ConditionReady, metav1.ConditionFalse, "NotClean", "The server could not be cleaned: %s. The annotation %s=retry removes the taint and cleans it again",
			cmp.Or(v.Server.Annotations[annotationNotClean], "somebody tainted it"), metalv1.AnnotationOperation)
		if v.failedBootLeft() { // another try is another boot
			p.Remove = true
			p.Facts = func(s *metalv1.Server) { s.Spec.BootConfigurationRef = nil }
		}
		v.notClean(&p, metalv1.ReasonCleanupFailed, "%s", cmp.Or(v.Server.Annotations[annotationNotClean], "The server is tainted "+metalv1.TaintNotClean))
	} else {
		p.condition(metalv1.ConditionReady, metav1.ConditionFalse, "DiscoveryFailed", "Discovery failed %d times; the annotation %s=retry starts it again", discoveryFailures(v.Server), metalv1.AnnotationOperation)
	}
	return p
}

// failedBootLeft says that the boot of a cleanup that failed has not been removed yet.
func (v *View) failedBootLeft() bool {
	return v.BootInternal && v.Server.Annotations[annotationNotClean] != ""
}
