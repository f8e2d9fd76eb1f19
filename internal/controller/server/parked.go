package server

import metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"

// decideParked switches a parked machine off gracefully, once, and keeps its hands off.
// That it was done is written first: it must not be done again, whatever happens.
func decideParked(v *View) Plan {
	var p Plan
	if v.on() && v.Server.Annotations[annotationParkedOff] == "" {
		id := v.NewID()
		p.Facts = func(s *metalv1.Server) { annotate(s, annotationParkedOff, id) }
		v.powerOff(&p, "park-"+id, false)
	}
	return p
}
