package bootserver

import (
	"errors"
	"net/http"

	"github.com/farrier-dev/farrier/internal/bootview"
)

const (
	textForbidden   = "Forbidden\n"
	textWithheld    = "The boot of this machine is not open yet\n"
	textExpired     = "Nobody knows whether this is still the machine's: no manager has been heard for too long\n"
	textBadIgnition = "The ignition of this machine cannot be translated\n"
)

// serveIgnition answers /ignition/{uuid}?token=.
func (s *Server) serveIgnition(w http.ResponseWriter, r *http.Request, uuid string) {
	token := query(r, "token")
	m, status := s.view.ByUUID(uuid)
	if status == bootview.Unknown && token != "" {
		// A machine without UUID was given a URL that lacks it; its token says
		// who it is.
		if known, ok := s.view.ByToken(token); ok {
			m, status = known, bootview.Found
		}
	}
	switch {
	case status != bootview.Found:
		s.refuseLookup(w, r, m, status)
		if status == bootview.Unknown {
			s.unknown(r, uuid, "", "")
		}
		return
	case m.Ignition() == nil:
		notFound(w, r)
		return
	case s.cfg.SecretsExpired():
		unavailable(w, r, textExpired)
		s.delivered(r, Ignition, m, m.IgnitionEntry(), http.StatusServiceUnavailable, 0)
		return
	}
	switch is := s.mayReadIgnition(r, m, token); {
	case is == early:
		unavailable(w, r, textEarly)
		s.delivered(r, Ignition, m, m.IgnitionEntry(), http.StatusServiceUnavailable, 0)
	case is != admitted:
		refuse(w, r, http.StatusForbidden, textForbidden)
		s.delivered(r, Ignition, m, m.IgnitionEntry(), http.StatusForbidden, 0)
	case errors.Is(m.Ignition().Err, bootview.ErrIgnitionWithheld):
		// Another entry of the machine says that its boot is open; this one is about to.
		unavailable(w, r, textWithheld)
		s.delivered(r, Ignition, m, m.IgnitionEntry(), http.StatusServiceUnavailable, 0)
	case errors.Is(m.Ignition().Err, bootview.ErrIgnitionMissing):
		notFound(w, r)
		s.delivered(r, Ignition, m, m.IgnitionEntry(), http.StatusNotFound, 0)
	case m.Ignition().Err != nil:
		// The text of the error may quote the payload; the object's condition has it.
		refuse(w, r, http.StatusInternalServerError, textBadIgnition)
		s.delivered(r, Ignition, m, m.IgnitionEntry(), http.StatusInternalServerError, 0)
	default:
		contentType := typeJSON
		if m.Ignition().ContentType != "" && m.Ignition().ContentType != typeJSON[0] {
			contentType = []string{m.Ignition().ContentType}
		}
		w.Header()["Cache-Control"] = noStore
		send(w, r, http.StatusOK, contentType, m.Ignition().Payload)
		s.delivered(r, Ignition, m, m.IgnitionEntry(), http.StatusOK, len(m.Ignition().Payload))
	}
}
