package server

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
)

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
