package bootserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/inspection"
)

const (
	textUnauthorized = "Unauthorized: no token of an open boot attempt\n"
	textNotStored    = "Not stored, try again\n"
	textTooLarge     = "Report too large\n"
	textIncomplete   = "Report incomplete\n"
)

// RFC 9110 §15.5.2 wants a challenge with every 401. The token goes into the URL,
// which has no registered scheme.
var challenge = []string{`Token realm="probe"`}

var closeAfter = []string{"close"}

// sender is what is known about who posts.
type sender struct {
	uuid    string // canonical; empty: any
	attempt string
	clean   inspection.CleanMode // what the attempt is to clean; empty: nothing
}

// serveRegister answers POST /register, the path of agents that have no token.
func (s *Server) serveRegister(w http.ResponseWriter, r *http.Request, _ string) {
	if s.allowAnonymous(w, r) {
		s.register(w, r, sender{}, "")
	}
}

// serveBootState answers POST /bootstate.
func (s *Server) serveBootState(w http.ResponseWriter, r *http.Request, _ string) {
	if s.allowAnonymous(w, r) {
		s.bootState(w, r, sender{})
	}
}

// serveTokenRegister answers POST /probe/{token}/register.
func (s *Server) serveTokenRegister(w http.ResponseWriter, r *http.Request, token string) {
	if from, ok := s.authenticate(w, r, token); ok {
		s.register(w, r, from, token)
	}
}

// serveTokenBootState answers POST /probe/{token}/bootstate.
func (s *Server) serveTokenBootState(w http.ResponseWriter, r *http.Request, token string) {
	if from, ok := s.authenticate(w, r, token); ok {
		s.bootState(w, r, from)
	}
}

func (s *Server) allowAnonymous(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case !s.cfg.AllowUnauthenticatedProbe:
		unauthorized(w, r)
		return false
	case !s.view.Synced():
		unavailable(w, r, textUnsynced)
		return false
	}
	return true
}

func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, token string) (sender, bool) {
	if !s.view.Synced() {
		unavailable(w, r, textUnsynced)
		return sender{}, false
	}
	if m, ok := s.view.ByToken(token); ok {
		return sender{uuid: m.UUID, attempt: m.Attempt.ID, clean: inspection.CleanMode(m.Attempt.Clean)}, true
	}
	if from, ok := s.heard.of(token); ok {
		return from, true
	}
	unauthorized(w, r)
	return sender{}, false
}

func unauthorized(w http.ResponseWriter, r *http.Request) {
	w.Header()["Www-Authenticate"] = challenge
	refuse(w, r, http.StatusUnauthorized, textUnauthorized)
}

func (s *Server) register(w http.ResponseWriter, r *http.Request, from sender, token string) {
	reg, err := inspection.Decode(r.Body, s.cfg.MaxReport)
	if err != nil {
		refuseBody(w, r, err)
		return
	}
	attempt, ok := s.attemptOf(from, reg.SystemUUID)
	if !ok {
		unauthorized(w, r)
		return
	}
	reg.Attempt = attempt
	status := s.store(w, r, "report", reg.SystemUUID, func(ctx context.Context) error { return s.cfg.Reports.Register(ctx, reg) })
	s.received(r, Report, reg.SystemUUID, attempt, status)
	if status != http.StatusCreated {
		return
	}
	if token != "" {
		s.heard.remember(token, sender{uuid: reg.SystemUUID, attempt: attempt})
	}
	body, err := orderOf(from, reg)
	if err != nil || body == nil { // an order of two words can always be marshalled
		send(w, r, http.StatusCreated, typeText, nil)
		return
	}
	w.Header()["Cache-Control"] = noStore
	send(w, r, http.StatusCreated, typeJSON, body)
}

func (s *Server) bootState(w http.ResponseWriter, r *http.Request, from sender) {
	state, err := inspection.DecodeBootState(r.Body, s.cfg.MaxReport)
	if err != nil {
		refuseBody(w, r, err)
		return
	}
	attempt, ok := s.attemptOf(from, state.SystemUUID)
	if !ok {
		unauthorized(w, r)
		return
	}
	state.Attempt = attempt
	status := s.store(w, r, "boot state", state.SystemUUID, func(ctx context.Context) error { return s.cfg.Reports.BootState(ctx, state) })
	s.received(r, BootState, state.SystemUUID, attempt, status)
	if status == http.StatusCreated {
		send(w, r, http.StatusCreated, typeText, nil)
	}
}

// attemptOf says which attempt a message about uuid belongs to. A token speaks for
// its own machine alone; without one, the open attempt of the machine is meant.
func (s *Server) attemptOf(from sender, uuid string) (string, bool) {
	if from.attempt != "" {
		return from.attempt, from.uuid == "" || from.uuid == uuid
	}
	if m, status := s.view.ByUUID(uuid); status == bootview.Found && m.Attempt.Open {
		// What is said about a cleanup decides who gets the disks next.
		return m.Attempt.ID, m.Attempt.Clean == ""
	}
	return "", true
}

func refuseBody(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, inspection.ErrMalformed):
		refuse(w, r, http.StatusBadRequest, err.Error()+"\n")
	case errors.Is(err, inspection.ErrTooLarge):
		// What is left of it is not worth reading.
		w.Header()["Connection"] = closeAfter
		refuse(w, r, http.StatusRequestEntityTooLarge, textTooLarge)
	default:
		// It did not arrive whole. That is not the message's fault, and agents
		// give up on a 400.
		w.Header()["Connection"] = closeAfter
		refuse(w, r, http.StatusRequestTimeout, textIncomplete)
	}
}

// orderOf is what an agent is to do after its report has been stored; nil: nothing. Only whoever holds the token of an
// attempt that is for cleaning is told to, only once it has said that it can, and not when it has done so.
func orderOf(from sender, reg inspection.Registration) ([]byte, error) {
	order := inspection.CleanOrder{Mode: from.clean}
	if needed := order.Capability(); needed == "" || reg.Data.Cleanup != nil || !slices.Contains(reg.Data.Capabilities, needed) {
		return nil, nil
	}
	return json.Marshal(inspection.Order{Cleanup: &order})
}

// store has the message stored and returns the status of the answer: 201 where it is, and any other has been sent.
func (s *Server) store(w http.ResponseWriter, r *http.Request, what, uuid string, put func(context.Context) error) int {
	// The deadline of the body is over; net/http reads on in the background and
	// would take it for the client's end.
	setReadDeadline(w, time.Time{})
	if s.cfg.Reports == nil {
		unavailable(w, r, textNotStored)
		return http.StatusServiceUnavailable
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.ReportTimeout)
	defer cancel()
	if err := put(ctx); err != nil {
		s.cfg.Logger.Info("Not stored", "message", what, "systemUUID", uuid, "reason", err.Error())
		if errors.Is(err, inspection.ErrTooLarge) {
			refuse(w, r, http.StatusRequestEntityTooLarge, textTooLarge) // it will be the next time too
			return http.StatusRequestEntityTooLarge
		}
		unavailable(w, r, textNotStored)
		return http.StatusServiceUnavailable
	}
	return http.StatusCreated
}

// probeAnswer is what a probe booted from a UKI, whose command line is fixed, is
// started with.
type probeAnswer struct {
	RegistryURL string `json:"registryURL"`
	ServerUUID  string `json:"serverUUID"`
}

// serveProbe answers /probe/{uuid}, with ?mac= and ?serial= as /ipxe/{uuid}: where to report to, in an open attempt only.
func (s *Server) serveProbe(w http.ResponseWriter, r *http.Request, uuid string) {
	m, status := s.machine(r, uuid)
	switch {
	case status != bootview.Found:
		s.refuseLookup(w, r, m, status)
	case !m.Attempt.Open || m.Attempt.Token == "" || s.baseOf(r, m) == "":
		notFound(w, r)
	case s.cfg.IgnitionAccess != AccessOpen && s.view.BelongsToOther(caller(r), m):
		refuse(w, r, http.StatusForbidden, textForbidden)
	default:
		body, err := json.Marshal(probeAnswer{
			RegistryURL: s.baseOf(r, m) + "/probe/" + m.Attempt.Token,
			ServerUUID:  m.UUID,
		})
		if err != nil { // two strings can always be marshalled
			refuse(w, r, http.StatusInternalServerError, http.StatusText(http.StatusInternalServerError)+"\n")
			return
		}
		w.Header()["Cache-Control"] = noStore
		send(w, r, http.StatusOK, typeJSON, body)
	}
}
