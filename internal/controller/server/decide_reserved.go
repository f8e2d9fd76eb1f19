package server

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
)

// mark remembers the owner of a server that another installation, or a person, has bound, before anything else: a person may remove
// its reference in every state. It reports whether that is all there is to do now.
func (v *View) mark(p *Plan) bool {
	if v.Server.Spec.ServerClaimRef == nil || v.claimedBy() != "" {
		return false
	}
	owner := "unknown-" + v.NewID() // each has its own cleanup record
	if v.Claim != nil {
		owner = string(v.Claim.UID)
	}
	p.edit(setAnnotation{metalv1.AnnotationClaimedBy, owner})
	return true
}

// forgetCleanup deletes the record of a cleanup after this very claim, and reports whether there was one: the claim has given the
// server back and taken it again, so the record is no longer true.
func (v *View) forgetCleanup(p *Plan) bool {
	p.Forget = v.Cleaned != nil
	return p.Forget
}

// decideReserved boots what the claim names and keeps the power that it asks for. A machine that was started for this claim and is on
// is never touched again.
func decideReserved(v *View) Plan {
	var p Plan
	if v.mark(&p) || v.forgetCleanup(&p) {
		return p
	}
	if wish := v.Claim.Annotations[metalv1.AnnotationCleanup]; wish != v.Server.Annotations[metalv1.AnnotationClaimCleanup] {
		p.edit(setAnnotation{metalv1.AnnotationClaimCleanup, wish}) // the claim is gone when this is needed
	}
	if v.BootInternal {
		// A person removed its claim reference, and set it again during the cleanup.
		ref := v.Server.Spec.ServerClaimRef
		p.edit(setBoot{ref.Namespace, ref.Name})
		return p
	}
	how := v.installing(&p)
	if p.Attempt != nil {
		return p
	}
	if v.Claim.Spec.Power != metalv1.PowerOn {
		v.bootReady(&p)
		v.reinstallPending(&p, how)
		if v.running() && v.Claim.Spec.Power == metalv1.PowerOff { // an unknown value switches nothing
			v.powerOff(&p, "claim-"+v.claimedBy()+"-"+v.attemptID(), false)
		}
		return p
	}
	if v.boot(&p, how) {
		p.condition(metalv1.ConditionPoweringOn, metav1.ConditionFalse, "Started", "The machine started at %s", v.Attempt.Started.UTC().Format("15:04:05"))
	}
	v.reinstallPending(&p, how)
	return p
}

// installing says how the machine of a claim is booted. With boot policy Once the first boot that the machine reports installs it:
// that is remembered first, then the attempt is closed, and from then on the machine boots its disk. A new value of the annotation
// farrier.dev/reinstall installs it again.
func (v *View) installing(p *Plan) bootOptions {
	how := bootOptions{again: true}
	if v.Boot == nil || v.Boot.Annotations[metalv1.AnnotationBootPolicy] != string(metalv1.BootPolicyOnce) {
		return how
	}
	a := v.Attempt
	if a.Open() && v.bootedInAttempt() {
		p.edit(setAnnotation{metalv1.AnnotationInstalled, string(v.Boot.UID) + "/" + bootconfig.Digest(v.Boot)})
		p.Attempt = a.SeenInstalled(v.Now)
		return how
	}
	if a != nil {
		how.cold, how.force, how.reinstall = a.Cold, a.Cold, a.Reinstall
	}
	asked := v.Boot.Annotations[metalv1.AnnotationReinstall]
	if _, installed := v.installed(); installed && !a.Open() {
		how.disk = asked == "" || asked == how.reinstall
		how.anew = !how.disk && a.Exits()
	}
	if !how.disk {
		how.reinstall = asked
	}
	return how
}

// installed is the digest of the image that this boot configuration has installed on the machine.
func (v *View) installed() (digest string, installed bool) {
	uid, digest, _ := strings.Cut(v.Server.Annotations[metalv1.AnnotationInstalled], "/")
	return digest, v.Boot != nil && uid != "" && uid == string(v.Boot.UID)
}

// bootedInAttempt reports whether the machine has reported that it booted in this attempt.
func (v *View) bootedInAttempt() bool {
	return reportintake.Booted(v.Boot, v.Attempt)
}

// reinstallPending says in condition BootReady that the boot configuration names something else than is installed, until somebody asks
// for a reinstall.
func (v *View) reinstallPending(p *Plan, how bootOptions) {
	digest, installed := v.installed()
	if !installed || !how.disk || !v.Attempt.Begun() {
		return
	}
	if v.Attempt.Generation == v.Boot.Generation && !differ(bootconfig.Digest(v.Boot), digest) && !differ(bootconfig.Ignition(v.Boot), v.Attempt.Ignition) {
		return
	}
	p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, metalv1.ReasonReinstallPending,
		"Image or ignition has changed since the installation (%s). Set a new value of the annotation %s on the claim to install it again", digest, metalv1.AnnotationReinstall)
}

// differ reports whether two values are both known and not the same.
func differ(now, then string) bool { return now != "" && then != "" && now != then }

// decideReleasing ends a reservation whose claim is gone: the machine is switched off, and then cleaned, unless its owner wants it
// kept. The mark of the last claim stays, so that no server gets around its cleanup.
func decideReleasing(v *View) Plan {
	var p Plan
	if v.mark(&p) || v.forgetCleanup(&p) {
		return p
	}
	if !v.settledOff() {
		if v.System != nil {
			v.powerOff(&p, "release-"+v.claimedBy(), v.Policy.EnforcePowerOff)
		}
		return p
	}
	ref := v.Server.Spec.ServerClaimRef
	p.edit(removeClaim{}, removeBoot())
	p.event("Released", "Claim %s/%s is gone and the machine is off", ref.Namespace, ref.Name)
	return p
}
