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
	if v.running() {
		v.powerOff(&p, "available-"+v.Inspected, true)
	}
	return p
}
