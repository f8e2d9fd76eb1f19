package bootserver

import (
	"net/http"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// serveChainload answers /ipxe and /ipxe/, the same to everyone of a site, and leads /ipxe?label=value… on.
//
// The chainload script of a machine whose SMBIOS has no UUID comes back as
// /ipxe/?mac=…&serial=…, with nothing where the UUID would be.
func (s *Server) serveChainload(w http.ResponseWriter, r *http.Request, _ string) {
	switch {
	case r.URL.RawQuery == "":
	case r.URL.Path == "/ipxe/":
		s.serveScript(w, r, "")
		return
	default:
		s.serveLabels(w, r)
		return
	}
	script := s.chainload[s.nearBase(r)]
	if script == nil {
		refuse(w, r, http.StatusServiceUnavailable, textIPXEDisabled)
		return
	}
	w.Header()["Cache-Control"] = noStore
	send(w, r, http.StatusOK, typeScript, script)
	s.deliveredToAddress(r, Chainload, http.StatusOK, int64(len(script)), nil)
}

// serveScript answers /ipxe/{uuid}, with ?mac= and ?serial= for machines whose
// BMC reports no UUID.
func (s *Server) serveScript(w http.ResponseWriter, r *http.Request, uuid string) {
	m, status := s.machine(r, uuid)
	if status != bootview.Found {
		s.refuseLookup(w, r, m, status)
		if status == bootview.Unknown {
			s.unknown(r, uuid, query(r, "mac"), query(r, "serial"))
		}
		if status == bootview.Conflict {
			s.delivered(r, Script, m, "", http.StatusConflict, 0)
		}
		return
	}
	s.sendScript(w, r, m)
}

// machine is that of a UUID in the path, else of the MAC or the serial number in the query. The MAC also tells a machine apart whose UUID
// is another's.
func (s *Server) machine(r *http.Request, uuid string) (*bootview.Machine, bootview.Status) {
	if r.URL.RawQuery == "" {
		return s.view.ByUUID(uuid)
	}
	return s.view.Find(uuid, query(r, "mac"), query(r, "serial"))
}

// sendScript answers with the script of a machine, if it has one. What is secret in it is for the machine alone; anybody else gets it without.
func (s *Server) sendScript(w http.ResponseWriter, r *http.Request, m *bootview.Machine) {
	base := s.baseOf(r, m)
	switch {
	case m.Script().IsZero():
		notFound(w, r)
		s.delivered(r, Script, m, "", http.StatusNotFound, 0)
		return
	case base == "" && m.Script().NeedsBase():
		refuse(w, r, http.StatusServiceUnavailable, textIPXEDisabled)
		s.delivered(r, Script, m, m.ScriptEntry(), http.StatusServiceUnavailable, 0)
		return
	case m.Script().MayHaveSecret() && s.cfg.SecretsExpired():
		unavailable(w, r, textExpired)
		s.delivered(r, Script, m, m.ScriptEntry(), http.StatusServiceUnavailable, 0)
		return
	}
	script, told := m.Script(), s.tell(r, m)
	switch told {
	case early:
		unavailable(w, r, textEarly)
		s.delivered(r, Script, m, m.ScriptEntry(), http.StatusServiceUnavailable, 0)
		return
	case refused, closed:
		script = script.Public()
	}
	buf := buffers.Get().(*[]byte)
	body := script.AppendTo((*buf)[:0], base)
	w.Header()["Cache-Control"] = noStore
	send(w, r, http.StatusOK, typeScript, body)
	sent := len(body)
	release(buf, body)
	s.delivered(r, Script, m, m.ScriptEntry(), http.StatusOK, sent)
}

// tell decides whether a script may be told whole.
func (s *Server) tell(r *http.Request, m *bootview.Machine) verdict {
	if m.Session() == nil {
		return admitted
	}
	q := s.request(r, m, noToken, true)
	is, why := s.admit(q)
	if is == early && m.Script().HasSecret() && s.opened(r, m) {
		is, why = s.admit(q)
	}
	switch {
	case is == early && !m.Script().HasSecret():
		return closed
	case is == refused:
		s.alarm(q, Script, why)
	}
	return is
}
