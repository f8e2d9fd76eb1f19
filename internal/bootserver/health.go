package bootserver

import "net/http"

var textOK = []byte("ok\n")

// serveHealth answers /healthz: the process is there.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request, _ string) {
	send(w, r, http.StatusOK, typeText, textOK)
}

// serveReady answers /readyz: machines can be sent here. That somebody could ask
// shows that the listener is up.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request, _ string) {
	if !s.view.Synced() {
		unavailable(w, r, textUnsynced)
		return
	}
	send(w, r, http.StatusOK, typeText, textOK)
}
