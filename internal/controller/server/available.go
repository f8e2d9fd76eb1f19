package server

import metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"

// decideAvailable keeps a server ready for a claim: off, and with nothing of its
// discovery left behind.
func decideAvailable(v *View) Plan {
	var p Plan
	if v.BootInternal || v.Server.Annotations[annotationDiscoveryFailures] != "" {
		p.Remove = true
		p.Facts = func(s *metalv1.Server) {
			s.Spec.BootConfigurationRef = nil
			forgetFailures(s)
		}
	}
	if v.running() {
		v.powerOff(&p, "available-"+v.Inspected, true)
	}
	return p
}
