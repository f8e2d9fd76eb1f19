package server

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
)

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

// forgetCleanup deletes the record of a cleanup after this very claim, and says whether there was one: the claim has
// let go of the server and taken it again, and what is on record is not true any more.
func (v *View) forgetCleanup(p *Plan) bool {
	p.Forget = v.Cleaned != nil
	return p.Forget
}

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

// installing says how the machine of a claim is booted. With boot policy Once it is installed by the first boot after
// which it tells that it has booted: that is remembered first, then its attempt is closed, and from then
// on it boots its disk. A new value of the annotation farrier.dev/reinstall begins again.
func (v *View) installing(p *Plan) bootWay {
	way := bootWay{again: true}
	if v.Boot == nil || v.Boot.Annotations[metalv1.AnnotationBootPolicy] != string(metalv1.BootPolicyOnce) {
		return way
	}
	a := v.Attempt
	if a.Open() && v.bootedInAttempt() {
		installed := string(v.Boot.UID) + "/" + bootconfig.Digest(v.Boot)
		p.alsoFacts(func(s *metalv1.Server) { annotate(s, metalv1.AnnotationInstalled, installed) })
		p.Attempt = a.SeenInstalled(v.Now)
		return way
	}
	if a != nil {
		way.cold, way.force, way.reinstall = a.Cold, a.Cold, a.Reinstall
	}
	asked := v.Boot.Annotations[metalv1.AnnotationReinstall]
	if _, installed := v.installed(); installed && !a.Open() {
		way.disk = asked == "" || asked == way.reinstall
		way.anew = !way.disk && a.Exits()
	}
	if !way.disk {
		way.reinstall = asked
	}
	return way
}

// installed is the digest of the image that this boot configuration has installed on the machine.
func (v *View) installed() (digest string, installed bool) {
	uid, digest, _ := strings.Cut(v.Server.Annotations[metalv1.AnnotationInstalled], "/")
	return digest, v.Boot != nil && uid != "" && uid == string(v.Boot.UID)
}

// bootedInAttempt says whether the machine has told that it booted, in this attempt.
func (v *View) bootedInAttempt() bool {
	return reportintake.Booted(v.Boot, v.Attempt)
}

// reinstallPending says that something else is installed than the boot configuration names by now. It stays so until
// somebody asks for a reinstall.
func (v *View) reinstallPending(p *Plan, way bootWay) {
	digest, installed := v.installed()
	if !installed || !way.disk || !v.Attempt.Begun() {
		return
	}
	if v.Attempt.Generation == v.Boot.Generation && !differ(bootconfig.Digest(v.Boot), digest) && !differ(bootconfig.Ignition(v.Boot), v.Attempt.Ignition) {
		return
	}
	p.condition(metalv1.ConditionBootReady, metav1.ConditionFalse, metalv1.ReasonReinstallPending,
		"Image or ignition has changed since it was installed (%s); a new value of the annotation %s on the claim installs it again", digest, metalv1.AnnotationReinstall)
}

// differ says whether two things that are both known are not the same.
func differ(now, then string) bool { return now != "" && then != "" && now != then }

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
