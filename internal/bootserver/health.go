package bootserver

import (
	"errors"
	"net/http"
)

var errUnsynced = errors.New("the view is not synchronised")

var textOK = []byte("ok\n")

// serveHealth answers /healthz: the process is there.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request, _ string) {
	send(w, r, http.StatusOK, typeText, textOK)
}

// serveReady answers /readyz: machines can be sent here. That somebody could ask
// shows that the listener is up.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request, _ string) {
	switch err := s.notReady(); {
	case errors.Is(err, errUnsynced):
		unavailable(w, r, textUnsynced)
		return
	case err != nil:
		unavailable(w, r, err.Error()+"\n")
		return
	}
	send(w, r, http.StatusOK, typeText, textOK)
}

// notReady says why machines are not to be sent here.
func (s *Server) notReady() error {
	switch {
	case s.cfg.Ready != nil:
		return s.cfg.Ready()
	case !s.view.Synced():
		return errUnsynced
	}
	return nil
}
