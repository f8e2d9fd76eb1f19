package server

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// decideAvailable keeps a server ready for a claim: off, and without the objects of its discovery.
func decideAvailable(v *View) Plan {
	var p Plan
	order, news := v.newBootOrder()
	if v.BootInternal || news || v.Server.Annotations[annotationDiscoveryFailures] != "" {
		p.Remove = v.BootInternal
		p.edit(removeBoot())
		p.edit(forgetFailures()...)
		if news {
			p.edit(setAnnotation{metalv1.AnnotationBootOrder, order})
		}
	}
	v.probeBoot(&p)
	if v.running() || v.comingOn() {
		v.powerOff(&p, "available-"+v.Inspected, true)
	}
	if v.System != nil && v.Unreachable == nil && !v.stuck(&p) && (v.running() || !v.seenSince(&v.InspectedAt)) {
		p.awaits(AwaitsIdle, v.InspectedAt)
	}
	return p
}

// decideReleased keeps a server as it is for its owner, off. The boot configuration went with the claim, and so does the reference to
// it. The state ends when somebody removes serverClaimRef.
func decideReleased(v *View) Plan {
	var p Plan
	if v.mark(&p) || v.forgetCleanup(&p) {
		return p
	}
	if v.Server.Spec.BootConfigurationRef != nil && v.Boot == nil {
		p.edit(removeBoot())
	}
	return p
}

// decideParked shuts a parked machine down, once, and leaves it alone. That is written first, so that it is never repeated. A machine
// that is off already needs no shutdown: whoever switches it on works on it.
func decideParked(v *View) Plan {
	var p Plan
	if v.mark(&p) {
		return p
	}
	if v.Server.Annotations[metalv1.AnnotationParkedOff] != "" || !v.on() && !v.off() {
		return p
	}
	id := v.NewID()
	p.edit(setAnnotation{metalv1.AnnotationParkedOff, id})
	if !v.settledOff() {
		v.powerOff(&p, "park-"+id, false) // or supersedes a power-on
	}
	return p
}

// decideError waits for a person.
func decideError(v *View) Plan {
	var p Plan
	if v.hasTaint(metalv1.TaintNotClean) {
		p.condition(metalv1.ConditionReady, metav1.ConditionFalse, "NotClean", "The server could not be cleaned: %s. Set the annotation %s=retry to remove the taint and clean it again",
			cmp.Or(v.Server.Annotations[annotationNotClean], "somebody tainted it"), metalv1.AnnotationOperation)
		if v.failedBootLeft() { // a retry boots the probe again
			p.Remove = true
			p.edit(removeBoot())
		}
		v.notClean(&p, metalv1.ReasonCleanupFailed, "%s", cmp.Or(v.Server.Annotations[annotationNotClean], "The server has taint "+metalv1.TaintNotClean))
	} else {
		p.condition(metalv1.ConditionReady, metav1.ConditionFalse, "DiscoveryFailed", "Discovery failed %d times. Set the annotation %s=retry to start it again", discoveryFailures(v.Server), metalv1.AnnotationOperation)
	}
	return p
}

// failedBootLeft reports whether the boot configuration of a failed cleanup has not been removed yet.
func (v *View) failedBootLeft() bool {
	return v.BootInternal && v.Server.Annotations[annotationNotClean] != ""
}
