package server

import metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"

// decideReleased keeps a server as it is for its owner: off, and nothing else. What its claim had it boot went
// with the claim, and so does the reference to that. It ends when somebody removes serverClaimRef.
func decideReleased(v *View) Plan {
	var p Plan
	if v.mark(&p) || v.forgetCleanup(&p) {
		return p
	}
	if v.Server.Spec.BootConfigurationRef != nil && v.Boot == nil {
		p.Facts = func(s *metalv1.Server) { s.Spec.BootConfigurationRef = nil }
	}
	return p
}
