package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// The states in which nothing is done to a machine.

// decideMaintenance leaves the machine to whoever works on it.
func decideMaintenance(*View) Plan { return Plan{} }

// decideParked switches a parked machine off gracefully, once, and keeps its hands off.
// That it was done is written first: it must not be done again, whatever happens.
func decideParked(v *View) Plan {
	var p Plan
	if v.on() && v.Server.Annotations[annotationParkedOff] == "" {
		id := v.NewID()
		p.Facts = func(s *metalv1.Server) { annotate(s, annotationParkedOff, id) }
		v.powerOff(&p, "park-"+id, false)
	}
	return p
}

// decideError waits for a person.
func decideError(v *View) Plan {
	var p Plan
	if v.hasTaint(metalv1.TaintNotClean) {
		p.condition(metalv1.ConditionReady, metav1.ConditionFalse, "NotClean", "The server could not be cleaned")
	} else {
		p.condition(metalv1.ConditionReady, metav1.ConditionFalse, "DiscoveryFailed", "Discovery failed %d times; the annotation %s=retry starts it again", discoveryFailures(v.Server), metalv1.AnnotationOperation)
	}
	return p
}
