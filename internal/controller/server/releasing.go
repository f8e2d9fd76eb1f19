package server

import (
	corev1 "k8s.io/api/core/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// released says that the machine is off and that nothing is under way that switches it on: an order of
// the claim that is gone would otherwise come true for the next one.
func (v *View) released() bool {
	return v.off() && (v.System.Command.ID == "" || v.System.Command.State.Ended())
}

// comingOn says that an order to switch the machine on is under way, which was not seen on yet.
func (v *View) comingOn() bool {
	return v.off() && v.System.Command.Kind == fleet.PowerOn && !v.released()
}

// unsettled says that the machine was seen off before the last order about its power, of which it is not known what it came to.
func (v *View) unsettled() bool {
	last := v.System.Command
	return v.off() && (!v.released() || last.State == fleet.Failed && !v.System.Seen.After(last.End))
}

// mark remembers whose a server is that another installation, or somebody's hand, has bound, before anything else: from whatever
// state, its reference may be removed by hand. It says whether that is what there is to do.
func (v *View) mark(p *Plan) bool {
	if v.Server.Spec.ServerClaimRef == nil || v.claimedBy() != "" {
		return false
	}
	owner := "unknown-" + v.NewID() // each has a record of its own
	if v.Claim != nil {
		owner = string(v.Claim.UID)
	}
	p.Facts = func(s *metalv1.Server) { annotate(s, metalv1.AnnotationClaimedBy, owner) }
	return true
}

// decideReleasing ends a reservation whose claim is gone: the machine is switched off,
// and then, unless its owner wants it kept as it is, handed on to Cleanup. The
// mark of the last claim stays, so that no way leads around that.
func decideReleasing(v *View) Plan {
	var p Plan
	if v.mark(&p) || v.forgetCleanup(&p) {
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
		s.Spec.ServerClaimRef = nil
		s.Spec.BootConfigurationRef = nil
	}
	p.Event = Event{corev1.EventTypeNormal, "Released", "Claim " + ref.Namespace + "/" + ref.Name + " is gone and the machine is off"}
	return p
}
