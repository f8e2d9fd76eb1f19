package bootserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/inspection"
)

const (
	textUnauthorized   = "Unauthorized: no token of an open boot attempt\n"
	textNotStored      = "Not stored, try again\n"
	textTooLarge       = "Report too large\n"
	textUnknownMachine = "Not found: no Server has this system UUID\n"
	textIncomplete     = "Report incomplete\n"
	textManyReports    = "Too many reports in one boot\n"
	textNotBooted      = "Forbidden: this boot has not fetched what it needs to run\n"
)

const (
	// mostReports bounds what one boot stores: an agent tells what it found, repeats that where an answer was lost, and says how a wipe ended.
	mostReports = 16
	// reportsAtATime bounds the memory that reports take while they are read and decoded, and anonymousAtATime that of agents without a token.
	reportsAtATime, anonymousAtATime = 4, 1
	// reportWait is how long a report waits for its turn.
	reportWait = 5 * time.Second
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
	addr    netip.Addr
	machine *bootview.Machine // nil: it has no token, or has reported before and its attempt is over
}

// serveRegister answers POST /register, the path of agents that have no token.
func (s *Server) serveRegister(w http.ResponseWriter, r *http.Request, _ string) {
	if s.allowAnonymous(w, r) {
		s.takeTurn(w, r, s.anonymous, func() { s.register(w, r, sender{addr: caller(r)}, "") })
	}
}

// serveBootState answers POST /bootstate.
func (s *Server) serveBootState(w http.ResponseWriter, r *http.Request, _ string) {
	if s.allowAnonymous(w, r) {
		s.takeTurn(w, r, s.anonymous, func() { s.bootState(w, r, sender{addr: caller(r)}) })
	}
}

// serveTokenRegister answers POST /probe/{token}/register.
func (s *Server) serveTokenRegister(w http.ResponseWriter, r *http.Request, token string) {
	if from, ok := s.authenticate(w, r, token, Report); ok {
		s.takeTurn(w, r, s.reports, func() { s.register(w, r, from, token) })
	}
}

// serveTokenBootState answers POST /probe/{token}/bootstate.
func (s *Server) serveTokenBootState(w http.ResponseWriter, r *http.Request, token string) {
	if from, ok := s.authenticate(w, r, token, BootState); ok {
		s.takeTurn(w, r, s.reports, func() { s.bootState(w, r, from) })
	}
}

// takeTurn reads and decodes a message when few others are.
func (s *Server) takeTurn(w http.ResponseWriter, r *http.Request, turns chan struct{}, serve func()) {
	timer := time.NewTimer(reportWait)
	defer timer.Stop()
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
		serve()
	case <-timer.C:
		w.Header()["Connection"] = closeAfter // its body is still to come
		unavailable(w, r, textNotStored)
	case <-r.Context().Done():
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

// authenticate finds out whose token it is, and whether that machine boots where the message comes from, before anything of it is read.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, token string, kind DeliveryKind) (sender, bool) {
	if !s.view.Synced() {
		unavailable(w, r, textUnsynced)
		return sender{}, false
	}
	if m, ok := s.view.ByToken(token); ok {
		from := sender{uuid: m.UUID, attempt: m.Attempt().ID, clean: inspection.CleanMode(m.Attempt().Clean), addr: caller(r), machine: m}
		return from, s.believes(w, r, s.request(r, m, rightToken, s.mayReportFirst(m)), kind)
	}
	if from, ok := s.heard.of(token); ok && from.addr == caller(r) {
		return from, true
	}
	unauthorized(w, r)
	return sender{}, false
}

// mayReportFirst reports whether the first that this server hears of a machine may be its report, with the right token: because it has begun to
// answer since, because another serves what the machine boots, or because whoever asks may have the ignition, which the token is in.
func (s *Server) mayReportFirst(m *bootview.Machine) bool {
	served := m.Script().HasSecret() || m.FileURL() != ""
	return !served || s.cfg.IgnitionAccess == AccessOpen || m.Session() != nil && s.beganAfter(m)
}

// believes reports whether what a request says of its machine counts: it comes from whom the machine's boot is bound to, and that has
// fetched what it takes to run. Otherwise the request is answered.
func (s *Server) believes(w http.ResponseWriter, r *http.Request, q request, kind DeliveryKind) bool {
	is, why := s.admit(q)
	if is == closed && q.proof != noToken && q.machine.Session() != nil {
		// What runs there may take hours, such as a wipe. Its secrets are closed; what it says is not.
		if bound := q.machine.Session().Bound(); bound.Addr == q.caller.Addr {
			is = admitted
		}
	}
	switch {
	case is == early:
		unavailable(w, r, textEarly)
	case is == refused && why == noScript && q.proof != noToken && s.cfg.Others:
		unavailable(w, r, textNotStored) // until it is known here whom another has given the token
	case is == refused:
		s.alarm(q, kind, why)
		refuse(w, r, http.StatusForbidden, textForbidden)
	case is == closed:
		unauthorized(w, r)
	case !s.hasBooted(q.machine, q.caller.Addr):
		s.alarm(q, kind, noImage)
		refuse(w, r, http.StatusForbidden, textNotBooted)
	default:
		return true
	}
	return false
}

// hasBooted reports whether the machine has fetched from here what it runs, as far as this server serves that, was there, and was the one
// that the machine began with.
func (s *Server) hasBooted(m *bootview.Machine, from netip.Addr) bool {
	session := m.Session()
	if session == nil || s.beganAfter(m) || session.BoundElsewhere() {
		return true
	}
	byScript := m.Script().HasSecret()
	byFile := m.FileURL() != "" && strings.HasPrefix(m.FileURL(), s.cfg.Sites.Of(m.Site).Object()+"/")
	switch {
	case !byScript && !byFile:
		return true // another serves it
	case byScript && session.Fetched(Script) && (!m.Script().NamesImage() || session.Fetched(Artifact)):
		return true
	}
	return byFile && (session.FetchedFile() || s.callers.hasFile(from.String(), m.FileURL(), s.cfg.Clock.Now()))
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
	attempt, ok := s.attemptOf(w, r, from, reg.SystemUUID, Report)
	if !ok {
		return
	}
	if m := from.machine; m != nil && m.Session() != nil && !m.Session().Report(mostReports) {
		refuse(w, r, http.StatusTooManyRequests, textManyReports)
		return
	}
	reg.Attempt, reg.Contested = attempt, s.contested(from)
	status := s.store(w, r, "report", reg.SystemUUID, func(ctx context.Context) error { return s.cfg.Reports.Register(ctx, reg) })
	s.received(r, Report, reg.SystemUUID, attempt, status)
	if status != http.StatusCreated {
		return
	}
	if token != "" {
		s.heard.remember(token, sender{uuid: reg.SystemUUID, attempt: attempt, addr: from.addr})
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
	attempt, ok := s.attemptOf(w, r, from, state.SystemUUID, BootState)
	if !ok {
		return
	}
	state.Attempt = attempt
	status := s.store(w, r, "boot state", state.SystemUUID, func(ctx context.Context) error { return s.cfg.Reports.BootState(ctx, state) })
	s.received(r, BootState, state.SystemUUID, attempt, status)
	if status == http.StatusCreated {
		send(w, r, http.StatusCreated, typeText, nil)
	}
}

// attemptOf says which attempt a message about uuid belongs to; where it belongs to none, the request is answered. A token speaks for
// its own machine alone; without one, the open attempt of the machine is meant, and its machine has to be the one that sends.
func (s *Server) attemptOf(w http.ResponseWriter, r *http.Request, from sender, uuid string, kind DeliveryKind) (string, bool) {
	if from.attempt != "" {
		if from.uuid != "" && from.uuid != uuid {
			unauthorized(w, r)
			return "", false
		}
		return from.attempt, true
	}
	m, status := s.view.ByUUID(uuid)
	if status != bootview.Found || !m.Attempt().Open || m.Session() == nil {
		return "", true
	}
	if m.Attempt().Clean != "" { // what is said about a cleanup decides who gets the disks next
		unauthorized(w, r)
		return "", false
	}
	q := s.request(r, m, noToken, s.mayReportFirst(m))
	return m.Attempt().ID, s.believes(w, r, q, kind)
}

// contested says who else has asked for this boot, where nothing but having been first tells the machine from them; empty: nobody.
func (s *Server) contested(from sender) string {
	if m := from.machine; m != nil && m.Session() != nil && s.cfg.Identity == IdentityAddress && !s.verified(m) {
		if by := m.Session().Contested(); by.IsValid() {
			return by.String()
		}
	}
	return ""
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
	err := put(ctx)
	if err == nil {
		return http.StatusCreated
	}
	s.cfg.Logger.Info("probe report not stored", "report", what, "systemUUID", uuid, "error", err)
	switch {
	case errors.Is(err, inspection.ErrTooLarge): // it will be the next time too
		refuse(w, r, http.StatusRequestEntityTooLarge, textTooLarge)
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, inspection.ErrUnknownMachine): // waiting does not make it known
		refuse(w, r, http.StatusNotFound, textUnknownMachine)
		return http.StatusNotFound
	}
	unavailable(w, r, textNotStored)
	return http.StatusServiceUnavailable
}

// probeAnswer is what a probe booted from a UKI, whose command line is fixed, is
// started with.
type probeAnswer struct {
	RegistryURL string `json:"registryURL"`
	ServerUUID  string `json:"serverUUID"`
}

// serveProbe answers /probe/{uuid}, with ?mac= and ?serial= as /ipxe/{uuid}: where to report to, in an open attempt and to its machine alone.
func (s *Server) serveProbe(w http.ResponseWriter, r *http.Request, uuid string) {
	m, status := s.machine(r, uuid)
	switch {
	case status != bootview.Found:
		s.refuseLookup(w, r, m, status)
		if status == bootview.Unknown {
			s.unknown(r, uuid, query(r, "mac"), query(r, "serial"))
		}
		return
	case !m.Attempt().Open || m.Attempt().Token == "" || m.Session() == nil || s.baseOf(r, m) == "":
		notFound(w, r)
		return
	case s.cfg.SecretsExpired():
		unavailable(w, r, textExpired)
		return
	}
	switch is := s.mayAskWhere(r, m); is {
	case early:
		unavailable(w, r, textEarly)
		return
	case admitted:
	default:
		refuse(w, r, http.StatusForbidden, textForbidden)
		return
	}
	body, err := json.Marshal(probeAnswer{
		RegistryURL: s.baseOf(r, m) + "/probe/" + m.Attempt().Token,
		ServerUUID:  m.UUID,
	})
	if err != nil { // two strings can always be marshalled
		refuse(w, r, http.StatusInternalServerError, http.StatusText(http.StatusInternalServerError)+"\n")
		return
	}
	w.Header()["Cache-Control"] = noStore
	send(w, r, http.StatusOK, typeJSON, body)
}

// mayAskWhere decides whether a caller is told the token of a boot. Whoever the session is bound to has it already, or has proved more. A
// probe that was booted by a UKI is bound here, where it can be: with AccessToken nobody is who had no token before.
func (s *Server) mayAskWhere(r *http.Request, m *bootview.Machine) verdict {
	fetched := m.FileURL() != "" && s.callers.hasFile(caller(r).String(), m.FileURL(), s.cfg.Clock.Now())
	q := s.request(r, m, noToken, s.cfg.IgnitionAccess != AccessToken && (fetched || s.beganAfter(m)))
	is, why := s.admit(q)
	if is == refused {
		s.alarm(q, Report, why)
	}
	return is
}
