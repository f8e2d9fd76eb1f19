package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// decideReserved boots what the claim names and keeps the power as it asks. A
// machine that was started for this claim and is on is never touched again.
func decideReserved(v *View) Plan {
	var p Plan
	if v.mark(&p) || v.forgetCleanup(&p) {
		return p
	}
	if wish := v.Claim.Annotations[metalv1.AnnotationCleanup]; wish != v.Server.Annotations[metalv1.AnnotationClaimCleanup] {
		// The claim is gone when this is needed.
		p.Facts = func(s *metalv1.Server) { setOrDelete(s, metalv1.AnnotationClaimCleanup, wish) }
	}
	if v.BootInternal {
		// Its reference was removed by hand, and set again while it was cleaned.
		ref := *v.Server.Spec.ServerClaimRef
		p.alsoFacts(func(s *metalv1.Server) {
			s.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name}
		})
		return p
	}
	way := v.installing(&p)
	if p.Attempt != nil {
		return p
	}
	if v.Claim.Spec.Power != metalv1.PowerOn {
		v.bootReady(&p)
		v.reinstallPending(&p, way)
		if v.running() && v.Claim.Spec.Power == metalv1.PowerOff { // what means nothing switches nothing
			v.powerOff(&p, "claim-"+v.claimedBy()+"-"+v.attemptID(), false)
		}
		return p
	}
	if v.boot(&p, way) {
		p.condition(metalv1.ConditionPoweringOn, metav1.ConditionFalse, "Started", "The machine was started at %s", v.Attempt.Started.UTC().Format("15:04:05"))
	}
	v.reinstallPending(&p, way)
	return p
}

func (v *View) attemptID() string {
	if v.Attempt == nil {
		return "none"
	}
	return v.Attempt.ID
}

// forgetCleanup deletes the record of a cleanup after this very claim, and says whether there was one: the claim has
// let go of the server and taken it again, and what is on record is not true any more.
func (v *View) forgetCleanup(p *Plan) bool {
	p.Forget = v.Cleaned != nil
	return p.Forget
}
