package bootserver

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// Codes of error answers to machines that name themselves.
const (
	codeBadRequest  = "BadRequest"
	codeForbidden   = "Forbidden"
	codeNotFound    = "NotFound"
	codeUnassigned  = "NoAssignment"
	codeUnsynced    = "NotSynchronised"
	codeBroken      = "AssignmentBroken"
	codeDisabled    = "Disabled"
	codeBusy        = "Busy"
	codeExpired     = "Expired"
	messageNoConfig = "There is no such config, or no longer."
)

// problem is the body of an error answer. It says nothing of what is inside.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (s *Server) refuseProblem(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	body, err := json.Marshal(problem{code, message})
	if err != nil { // two strings can always be marshalled
		body = nil
	}
	if status == http.StatusServiceUnavailable {
		w.Header()["Retry-After"] = retryAfter[rand.IntN(len(retryAfter))]
	}
	w.Header()["X-Content-Type-Options"] = nosniff
	w.Header()["Cache-Control"] = noStore
	send(w, r, status, typeJSON, append(body, '\n'))
}

// serveBootstrap answers /boot.ipxe: the same to everyone.
func (s *Server) serveBootstrap(w http.ResponseWriter, r *http.Request, _ string) {
	w.Header()["Cache-Control"] = noStore
	script := bootstrap(s.cfg.NoAssignment)
	send(w, r, http.StatusOK, typeScript, script)
	s.deliveredToAddress(r, Chainload, http.StatusOK, int64(len(script)), nil)
}

// serveLabels answers /ipxe?labels: the script of the profile that the machine is assigned. A boot
// configuration of the same machine comes first, and its answer is that of /ipxe/{uuid}.
func (s *Server) serveLabels(w http.ResponseWriter, r *http.Request) {
	subject := subjects.Get().(*assignment.Subject)
	defer subjects.Put(subject)
	if err := subject.Read(queryOf(r)); err != nil {
		s.refuseProblem(w, r, http.StatusBadRequest, codeBadRequest, err.Error())
		return
	}
	base := s.nearBase(r)
	switch m, status := s.configured(*subject); status {
	case bootview.Found:
		base = s.baseOf(r, m)
		if !m.Script().IsZero() {
			s.sendScript(w, r, m)
			return
		}
	case bootview.Unsynced:
		s.refuseProblem(w, r, http.StatusServiceUnavailable, codeUnsynced, textUnsyncedMessage)
		return
	case bootview.Conflict:
		s.refuseLookup(w, r, m, status)
		return
	}
	s.serveAssigned(w, r, *subject, base)
}

// subjects are where the labels of a request are read into. Nobody keeps one beyond the answer.
var subjects = sync.Pool{New: func() any { return new(assignment.Subject) }}

// queryOf is the query as its sender meant it.
func queryOf(r *http.Request) string {
	if agent := r.Header["User-Agent"]; len(agent) == 1 && strings.HasPrefix(agent[0], "iPXE/") {
		return assignment.RepairQuery(r.URL.RawQuery)
	}
	return r.URL.RawQuery
}

// configured finds the machine among those of boot objects. A machine that has a UUID is looked for
// by nothing else: what it says of its cards may be true of two.
func (s *Server) configured(subject assignment.Subject) (*bootview.Machine, bootview.Status) {
	if uuid := subject.Get(assignment.KeyUUID); uuid != "" {
		return s.view.ByUUID(uuid)
	}
	return s.view.Find("", subject.Get(assignment.KeyMAC), subject.Get(assignment.KeySerial))
}

func (s *Server) serveAssigned(w http.ResponseWriter, r *http.Request, subject assignment.Subject, base string) {
	if s.cfg.Profiles == nil {
		s.refuseAssigned(w, r, profile.ErrUnassigned)
		s.unassigned(r, subject)
		return
	}
	if base == "" {
		s.refuseProblem(w, r, http.StatusServiceUnavailable, codeDisabled, "This boot server was not told at which URL machines reach it.")
		return
	}
	buf := buffers.Get().(*[]byte)
	script, err := s.cfg.Profiles.AppendScript(r.Context(), (*buf)[:0], subject, base)
	if err != nil {
		release(buf, *buf)
		if script.Assignment != nil && errors.Is(err, profile.ErrBroken) {
			s.cfg.Logger.V(1).Info("assignment cannot be served", "assignment", script.Assignment.Key(), "error", err)
			s.deliveredTo(r, Script, subject.Get(assignment.KeyUUID), script.Assignment.Entry(), http.StatusServiceUnavailable, 0)
		}
		s.refuseAssigned(w, r, err)
		if errors.Is(err, profile.ErrUnassigned) {
			s.unassigned(r, subject)
		}
		return
	}
	w.Header()["Cache-Control"] = noStore
	send(w, r, http.StatusOK, typeScript, script.Body)
	sent := len(script.Body)
	release(buf, script.Body)
	s.deliveredTo(r, Script, subject.Get(assignment.KeyUUID), script.Assignment.Entry(), http.StatusOK, sent)
}

const textUnsyncedMessage = "Not synchronised yet; ask again."

// refuseAssigned asks a machine to come back, whatever keeps it from its script: what is missing may be
// there a moment later, and a machine that is told 404 leaves network boot.
func (s *Server) refuseAssigned(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, profile.ErrUnassigned) && s.cfg.NoAssignment == http.StatusNotFound:
		s.refuseProblem(w, r, http.StatusNotFound, codeUnassigned, "Nothing is assigned to this machine.")
	case errors.Is(err, profile.ErrUnassigned):
		s.refuseProblem(w, r, http.StatusServiceUnavailable, codeUnassigned, "Nothing is assigned to this machine yet; ask again.")
	case errors.Is(err, profile.ErrUnsynced):
		s.refuseProblem(w, r, http.StatusServiceUnavailable, codeUnsynced, textUnsyncedMessage)
	case errors.Is(err, profile.ErrBusy), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		s.refuseProblem(w, r, http.StatusServiceUnavailable, codeBusy, "Too many scripts are being made; ask again.")
	default:
		s.refuseProblem(w, r, http.StatusServiceUnavailable, codeBroken, "What is assigned to this machine cannot be served now; ask again.")
	}
}

// serveConfig answers /config/{uuid} and /content/{uuid}: one config of a profile.
func (s *Server) serveConfig(w http.ResponseWriter, r *http.Request, id string) {
	if s.cfg.Profiles == nil {
		s.refuseProblem(w, r, http.StatusNotFound, codeNotFound, messageNoConfig)
		return
	}
	if s.cfg.SecretsExpired() {
		s.refuseProblem(w, r, http.StatusServiceUnavailable, codeExpired, "Nobody knows whether this is still the machine's: no manager has been heard for too long; ask again.")
		return
	}
	query := subjects.Get().(*assignment.Subject)
	defer subjects.Put(query)
	if err := query.Read(queryOf(r)); err != nil {
		s.refuseProblem(w, r, http.StatusBadRequest, codeBadRequest, err.Error())
		return
	}
	config, err := s.cfg.Profiles.Config(id, *query)
	switch {
	case err == nil:
		s.sendConfig(w, r, *query, config)
	case errors.Is(err, profile.ErrUnknown):
		s.refuseProblem(w, r, http.StatusNotFound, codeNotFound, messageNoConfig)
	case errors.Is(err, profile.ErrForbidden):
		s.refuseProblem(w, r, http.StatusForbidden, codeForbidden, "The URL is not signed, or has expired.")
	default:
		s.cfg.Logger.V(1).Info("config cannot be served", "config", id, "error", err)
		s.refuseAssigned(w, r, err)
	}
}

func (s *Server) sendConfig(w http.ResponseWriter, r *http.Request, query assignment.Subject, c profile.Config) {
	w.Header()["Cache-Control"] = noStore
	w.Header()["Etag"] = c.ETag
	sendOf(w, r, http.StatusOK, c.ContentType, c.Length, c.Bytes)
	s.deliveredTo(r, Ignition, query.Get(assignment.KeyUUID), c.Profile.Entry(), http.StatusOK, len(c.Bytes))
}

// deliveredTo reports an answer to a machine that has named itself.
func (s *Server) deliveredTo(r *http.Request, kind DeliveryKind, uuid, entry string, status, bytes int) {
	if r.Method != http.MethodGet {
		return
	}
	d := Delivery{Kind: kind, UUID: uuid, Entry: entry, Addr: callerText(r), Time: s.cfg.Clock.Now(), Status: status, Bytes: int64(bytes)}
	if kind == Script && uuid != "" {
		// It is known by what it says alone, which is enough for what else comes from its address.
		s.deliverEarlier(s.callers.namedAt(d.Addr, uuid, entry, d.Time), uuid, "")
	}
	s.cfg.Deliver(d)
}
