package server

import metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"

// decideParked switches a parked machine off gracefully, once, and keeps its hands off.
// That it was done is written first: it must not be done again, whatever happens. A machine that is off already has been
// through that: whoever switches it on works on it.
func decideParked(v *View) Plan {
	var p Plan
	if v.mark(&p) {
		return p
	}
	if v.Server.Annotations[annotationParkedOff] != "" || !v.on() && !v.off() {
		return p
	}
	id := v.NewID()
	p.Facts = func(s *metalv1.Server) { annotate(s, annotationParkedOff, id) }
	if !v.released() {
		v.powerOff(&p, "park-"+id, false) // or ends an order to switch on
	}
	return p
}
