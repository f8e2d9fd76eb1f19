package server

import (
	corev1 "k8s.io/api/core/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// released says that the machine is off and that nothing is under way that switches it on: an order of
// the claim that is gone would otherwise come true for the next one.
func (v *View) released() bool {
	return v.off() && (v.System.Command.ID == "" || v.System.Command.State.Ended())
}

// decideReleasing ends a reservation whose claim is gone: the machine is switched off,
// and then, unless its owner wants it kept as it is, handed on to Cleanup. The
// mark of the last claim stays, so that no way leads around that.
func decideReleasing(v *View) Plan {
	var p Plan
	if v.forgetCleanup(&p) {
		return p
	}
	if !v.released() {
		if v.System != nil {
			v.powerOff(&p, "release-"+v.claimedBy(), v.Policy.EnforcePowerOff)
		}
		return p
	}
	ref := *v.Server.Spec.ServerClaimRef
	p.Facts = func(s *metalv1.Server) {
		if s.Annotations[metalv1.AnnotationClaimedBy] == "" {
			annotate(s, metalv1.AnnotationClaimedBy, "unknown-"+v.NewID()) // each has a record of its own
		}
		s.Spec.ServerClaimRef = nil
		s.Spec.BootConfigurationRef = nil
	}
	p.Event = Event{corev1.EventTypeNormal, "Released", "Claim " + ref.Namespace + "/" + ref.Name + " is gone and the machine is off"}
	return p
}
