package server

import metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"

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
