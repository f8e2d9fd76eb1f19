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

// sendScript answers with the script of a machine, if it has one.
func (s *Server) sendScript(w http.ResponseWriter, r *http.Request, m *bootview.Machine) {
	base := s.baseOf(r, m)
	switch {
	case m.Script.IsZero():
		notFound(w, r)
		s.delivered(r, Script, m, "", http.StatusNotFound, 0)
		return
	case base == "" && m.Script.NeedsBase():
		refuse(w, r, http.StatusServiceUnavailable, textIPXEDisabled)
		s.delivered(r, Script, m, m.ScriptEntry, http.StatusServiceUnavailable, 0)
		return
	}
	buf := buffers.Get().(*[]byte)
	script := m.Script.AppendTo((*buf)[:0], base)
	w.Header()["Cache-Control"] = noStore
	send(w, r, http.StatusOK, typeScript, script)
	sent := len(script)
	release(buf, script)
	s.delivered(r, Script, m, m.ScriptEntry, http.StatusOK, sent)
}
