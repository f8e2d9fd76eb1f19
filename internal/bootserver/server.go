package bootserver

import (
	"context"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/netboot/bootfiles"
)

// timeouts of a connection. There is no http.Server.ReadTimeout: it would also end
// the context of a download that takes longer (the server reads on in the
// background). Bodies have a deadline of their own instead, see ServeHTTP, and
// artifacts one that moves with their progress, see progress.go.
type timeouts struct{ header, body, answer, idle, shutdown, early time.Duration }

var defaultTimeouts = timeouts{
	header:   10 * time.Second,
	body:     30 * time.Second,
	answer:   30 * time.Second,
	idle:     2 * time.Minute,
	shutdown: 5 * time.Second,
	early:    10 * time.Second,
}

// maxHeader is room for some 300 identifiers in X-Forwarded-For.
const maxHeader = 16 << 10

// Server answers machines. It is safe for concurrent use.
type Server struct {
	cfg      Config
	view     *bootview.View
	timeouts timeouts

	// chainload is the answer to everyone, rendered once for each base.
	chainload map[string][]byte
	heard     heard
	// unknownLines are those of the log about machines that nobody knows.
	unknownLines *ratelimit.Lines
	// blobRefusals and blobFailures are the lines of the log about blobs that nobody needs, and that are needed.
	blobRefusals, blobFailures *ratelimit.Lines
	callers                    callers
	programs                   *bootfiles.Dir     // nil: none
	limiter                    *ratelimit.Limiter // nil: no limit
	// since is when this server began to answer: what machines fetched before it does not know.
	since time.Time
	// reports and anonymous are the turns of messages with and without a token.
	reports, anonymous chan struct{}
}

// New checks the configuration.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, view: cfg.View, timeouts: defaultTimeouts, since: cfg.Clock.Now(),
		reports: make(chan struct{}, reportsAtATime), anonymous: make(chan struct{}, anonymousAtATime),
		unknownLines: ratelimit.NewLines(linesAMinute, time.Minute, cfg.Logger, cfg.Clock),
		blobRefusals: ratelimit.NewLines(1, blobRefusalsEvery, cfg.Logger, cfg.Clock), blobFailures: ratelimit.NewLines(1, blobFailuresEvery, cfg.Logger, cfg.Clock),
	}
	s.chainload = s.chainloads()
	if cfg.IgnitionAccess == AccessOpen {
		cfg.Logger.Info("any client can read the ignition of any machine", "flag", "--ignition-access", "set", "--ignition-access=expected")
	}
	s.limiter = newLimiter(cfg.RateLimit, cfg.Clock)
	if s.programs, err = openPrograms(cfg.ProgramsDir); err != nil {
		return nil, err
	}
	if cfg.TrustPrivateNetworks {
		cfg.Logger.Info("any host on a private network can impersonate a machine at /httpboot", "flag", "--trusted-forwarders", "set", "--trusted-forwarders=none")
	}
	warnForwarders(cfg.Logger, cfg.TrustedForwarders)
	return s, nil
}

// Handler is the server without a listener.
func (s *Server) Handler() http.Handler { return s }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// A body that never comes would hold the connection for ever, also where
		// nobody reads it: net/http drains it before the next request. What is answered
		// waits for it, and for a report to be stored.
		now := time.Now()
		setReadDeadline(w, now.Add(s.timeouts.body))
		_ = http.NewResponseController(w).SetWriteDeadline(now.Add(s.timeouts.body + s.cfg.ReportTimeout + s.timeouts.answer))
	}
	if s.cfg.Revision != nil {
		w.Header()[headerRevision] = s.cfg.Revision()
	}
	route, rest := find(r.URL.Path)
	if (route == nil || !route.health) && s.limited(w, r) {
		return
	}
	switch {
	case s.exposed(r, route):
		needsTLS(w, r)
	case route == nil && !isRead(r.Method):
		notAllowed(w, r, readMethods)
	case route == nil:
		notFound(w, r)
	case route.post && r.Method != http.MethodPost:
		notAllowed(w, r, postMethods)
	case !route.post && !isRead(r.Method):
		notAllowed(w, r, readMethods)
	default:
		route.serve(s, w, r, rest)
	}
}

// setReadDeadline fails only where there is no connection, in tests of handlers.
// Deadlines of connections are kept by the kernel's clock, not by an injected one.
func setReadDeadline(w http.ResponseWriter, t time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(t)
}

// Serve answers on l until ctx ends, then lets running answers finish for a
// moment. It closes l. The error is nil when ctx ended it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return s.serve(ctx, l, s)
}

// ServeImages is Serve for an address that answers /image alone, and whether it is there.
func (s *Server) ServeImages(ctx context.Context, l net.Listener) error {
	return s.serve(ctx, l, http.HandlerFunc(s.imagesOnly))
}

func (s *Server) imagesOnly(w http.ResponseWriter, r *http.Request) {
	if route := exact[r.URL.Path]; route != nil && (route.health || r.URL.Path == "/image") {
		s.ServeHTTP(w, r)
		return
	}
	notFound(w, r)
}

func (s *Server) serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := inbound.Prepare(&http.Server{
		Handler:           hostcheck.Handler(h, append(hostcheck.Names(s.cfg.Sites.Bases()...), s.cfg.Names...)...),
		ReadHeaderTimeout: s.timeouts.header,
		WriteTimeout:      s.timeouts.answer,
		IdleTimeout:       s.timeouts.idle,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(logWriter{s}, "", 0),
		// "OPTIONS *" is no more allowed than any other OPTIONS.
		DisableGeneralOptionsHandler: true,
	})
	return inbound.Serve(ctx, "boot server", srv, l, s.timeouts.shutdown)
}

// logWriter turns net/http's log, which is about clients that misbehave, into
// details.
type logWriter struct{ s *Server }

func (l logWriter) Write(p []byte) (int, error) {
	l.s.cfg.Logger.V(1).Info("connection failed", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}
