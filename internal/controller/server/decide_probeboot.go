package server

import (
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
)

// probeBoot takes a request to boot the probe of a server that is Available, or says that its probe has reported. What it writes first ends the
// state Available: the server is discovered as a new one is, with all its retries.
func (v *View) probeBoot(p *Plan) {
	asked, b := probeboot.Asked(v.Server), probeboot.Of(v.Server)
	switch {
	case b.Pending():
		reported := *b
		reported.Reported = v.Now.UTC()
		p.edit(setAnnotation{metalv1.AnnotationProbeBooted, reported.String()})
		p.event("ProbeBooted", "The machine has booted the probe, and it has reported, as the annotation %s=%.128s asked", metalv1.AnnotationProbeBoot, b.ID)
	case asked != "" && (b == nil || b.ID != asked) && v.mayBootProbe():
		begun := &probeboot.Boot{ID: asked, Begun: v.Now.UTC(), Before: v.Inspected}
		p.edit(setAnnotation{metalv1.AnnotationProbeBooted, begun.String()})
		p.event("ProbeBootBegan", "The machine boots the probe once, as the annotation %s=%.128s asks", metalv1.AnnotationProbeBoot, asked)
	}
}

// mayBootProbe reports whether a discovery could begin now: the request waits until then, and the server stays Available.
func (v *View) mayBootProbe() bool {
	return v.Policy.ProbeImage != "" && v.Unreachable == nil && v.System != nil && v.System.Inventory != nil && v.settledOff() && !v.BootInternal && v.Server.DeletionTimestamp.IsZero()
}
