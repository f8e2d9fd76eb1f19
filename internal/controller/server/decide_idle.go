package server

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// decideAvailable keeps a server ready for a claim: off, and with nothing of its
// discovery left behind.
func decideAvailable(v *View) Plan {
	var p Plan
	order, news := v.rememberBootOrder()
	if v.BootInternal || news || v.Server.Annotations[annotationDiscoveryFailures] != "" {
		p.Remove = v.BootInternal
		p.Facts = func(s *metalv1.Server) {
			s.Spec.BootConfigurationRef = nil
			forgetFailures(s)
			if news {
				annotate(s, metalv1.AnnotationBootOrder, order)
			}
		}
	}
	if v.running() || v.comingOn() {
		v.powerOff(&p, "available-"+v.Inspected, true)
	}
	if v.System != nil && v.Unreachable == nil && !v.stuck(&p) && (v.running() || !v.seenSince(&v.InspectedAt)) {
		p.brief(v.Now, v.InspectedAt, while) // that it is Available and that it is off are one write
	}
	return p
}

// decideReleased keeps a server as it is for its owner: off, and nothing else. What its claim had it boot went
// with the claim, and so does the reference to that. It ends when somebody removes serverClaimRef.
func decideReleased(v *View) Plan {
	var p Plan
	if v.mark(&p) || v.forgetCleanup(&p) {
		return p
	}
	if v.Server.Spec.BootConfigurationRef != nil && v.Boot == nil {
		p.Facts = func(s *metalv1.Server) { s.Spec.BootConfigurationRef = nil }
	}
	return p
}

// decideParked switches a parked machine off gracefully, once, and keeps its hands off.
// That it was done is written first: it must not be done again, whatever happens. A machine that is off already has been
// through that: whoever switches it on works on it.
func decideParked(v *View) Plan {
	var p Plan
	if v.mark(&p) {
		return p
	}
	if v.Server.Annotations[annotationParkedOff] != "" || !v.on() && !v.off() {
		return p
	}
	id := v.NewID()
	p.Facts = func(s *metalv1.Server) { annotate(s, annotationParkedOff, id) }
	if !v.released() {
		v.powerOff(&p, "park-"+id, false) // or ends an order to switch on
	}
	return p
}

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
