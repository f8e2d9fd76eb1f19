package bootserver

import (
	"encoding/json"
	"net/http"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// explanation is the body of /explain.
type explanation struct {
	Labels map[string]string `json:"labels"`
	// BootConfiguration names the boot object that comes before any assignment.
	BootConfiguration string              `json:"bootConfiguration,omitempty"`
	Candidates        []profile.Candidate `json:"candidates"`
}

// Explain answers GET /explain?label=value… with the assignments of a machine in their order, and why. It names objects and what is
// wrong with them, so it is for operators: nothing serves it to machines, and who mounts it asks who is there.
func Explain(view *bootview.View, profiles *profile.View) http.Handler {
	s := &Server{view: view, cfg: Config{Profiles: profiles}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isRead(r.Method) {
			notAllowed(w, r, readMethods)
			return
		}
		subject, err := assignment.ReadQuery(r.URL.RawQuery)
		switch {
		case err != nil:
			s.refuseProblem(w, r, http.StatusBadRequest, codeBadRequest, err.Error())
			return
		case s.cfg.Profiles == nil || !s.cfg.Profiles.Synced() || !s.view.Synced():
			s.refuseProblem(w, r, http.StatusServiceUnavailable, codeUnsynced, textUnsyncedMessage)
			return
		}
		e := explanation{Labels: subject.Labels(), Candidates: s.cfg.Profiles.Candidates(subject)}
		if m, status := s.configured(subject); status == bootview.Found && !m.Script().IsZero() {
			e.BootConfiguration = m.ScriptEntry()
		}
		body, err := json.Marshal(e)
		if err != nil { // strings and numbers can always be marshalled
			body = nil
		}
		w.Header()["Cache-Control"] = noStore
		send(w, r, http.StatusOK, typeJSON, append(body, '\n'))
	})
}
