package bootserver

import (
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// unknown notes that a machine asked what to boot and was told that there is nothing for it, and has the log say so: once for each machine,
// and not more often than anybody reads.
func (s *Server) unknown(r *http.Request, uuid, mac, serial string) {
	s.stranger(bootview.UnknownMachine{Address: callerText(r), UUID: uuid, MAC: mac, Serial: serial, Path: r.URL.Path})
}

func (s *Server) stranger(m bootview.UnknownMachine) {
	m, news := s.cfg.Unknown.Note(m, s.cfg.Clock.Now())
	s.cfg.Sighted(m)
	if !news {
		return
	}
	said := []any{"path", m.Path}
	for _, named := range [][2]string{{"address", m.Address}, {"systemUUID", m.UUID}, {"mac", m.MAC}, {"serial", m.Serial}} {
		if named[1] != "" {
			said = append(said, named[0], named[1])
		}
	}
	s.unknownLines.Logger().Info("unknown machine asked for a boot", said...)
}

// unassigned is unknown for a machine that names itself.
func (s *Server) unassigned(r *http.Request, subject assignment.Subject) {
	s.unknown(r, subject.Get(assignment.KeyUUID), subject.Get(assignment.KeyMAC), subject.Get(assignment.KeySerial))
}

// firstMAC is the first MAC address among the identifiers that a DHCP server names a machine by; empty: there is none.
func firstMAC(forwarded []string) string {
	for _, value := range forwarded {
		for id := range strings.SplitSeq(value, ",") {
			if mac, err := identity.MAC(strings.TrimSpace(id)); err == nil {
				return mac
			}
		}
	}
	return ""
}

// linesAMinute is how many machines that nobody knows the log names.
const linesAMinute = 10

// UnknownNow lists the machines that asked what to boot within the last day, got nothing, and would get nothing now. A machine whose identity
// alone does not tell what it gets, since an Assignment selects by what only the machine reports, leaves the list when the history has it boot.
func UnknownNow(view *bootview.View, profiles *profile.View, unknown *bootview.UnknownMachines, history *bootview.History, now clock.PassiveClock) func() []bootview.UnknownMachine {
	s := &Server{view: view, cfg: Config{Profiles: profiles}}
	return func() []bootview.UnknownMachine {
		still := []bootview.UnknownMachine{}
		for _, m := range unknown.List(now.Now()) {
			if !s.hasSomething(m) && !history.Booted(m.UUID, m.Last) {
				still = append(still, m)
			}
		}
		return still
	}
}

// Unknown answers GET /unknown with what list returns. It is for operators, as Explain is.
func Unknown(list func() []bootview.UnknownMachine) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isRead(r.Method) {
			notAllowed(w, r, readMethods)
			return
		}
		body, err := json.Marshal(list())
		if err != nil { // strings, numbers and times can always be marshalled
			body = nil
		}
		w.Header()["Cache-Control"] = noStore
		send(w, r, http.StatusOK, typeJSON, append(body, '\n'))
	})
}

// hasSomething reports whether there is something for a machine by now, by what is kept of what it said of itself.
func (s *Server) hasSomething(m bootview.UnknownMachine) bool {
	if _, status := s.view.Find(m.UUID, m.MAC, m.Serial); status != bootview.Unknown {
		return true
	}
	return s.assigned(m)
}
