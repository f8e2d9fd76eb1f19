package enroll

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	grpcpeer "google.golang.org/grpc/peer"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// Limits on strangers: a connection is for one short call.
const (
	messageLimit      = 64 << 10
	handshakeTimeout  = 10 * time.Second
	connectionMaximum = time.Minute
	callTimeout       = 15 * time.Second
	streamsMaximum    = 4

	// DefaultLifetime is short, for nobody has to do anything to renew.
	DefaultLifetime = 30 * 24 * time.Hour
)

// Server issues certificates to boot servers. It is safe for concurrent use.
type Server struct {
	streampb.UnimplementedBootServerCertificatesServer
	o        Options
	outcomes *prometheus.CounterVec
}

// Options are what a Server works with.
type Options struct {
	Store     Store
	Authority *authority.Authority
	// Identity is the manager's. Its authorities verify certificates that are to be renewed, and are sent to boot servers.
	Identity *peer.Identity
	// Lifetime is that of certificates; zero: DefaultLifetime.
	Lifetime time.Duration
	Clock    clock.PassiveClock
	Logger   logr.Logger
}

// NewServer makes a Server.
func NewServer(o Options) *Server {
	if o.Lifetime == 0 {
		o.Lifetime = DefaultLifetime
	}
	s := &Server{o: o, outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "farrier_boot_stream_certificate_requests_total",
		Help: "Requests of boot servers for a certificate, by kind and outcome: issued, or the reason why not.",
	}, []string{"kind", "outcome"})}
	for _, kind := range []string{"join", "renew"} {
		s.outcomes.WithLabelValues(kind, "issued")
		for _, reason := range Reasons {
			s.outcomes.WithLabelValues(kind, string(reason))
		}
	}
	return s
}

// GRPC is the server for a listener of its own. It has this service and no other: whoever comes with an expired certificate, or with none,
// finds nothing else.
func (s *Server) GRPC() *grpc.Server {
	g := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(s.o.Identity.EnrollConfig())),
		grpc.ConnectionTimeout(handshakeTimeout), grpc.MaxRecvMsgSize(messageLimit), grpc.MaxConcurrentStreams(streamsMaximum),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: connectionMaximum, MaxConnectionAgeGrace: callTimeout}),
	)
	streampb.RegisterBootServerCertificatesServer(g, s)
	return g
}

// Join implements streampb.BootServerCertificatesServer.
func (s *Server) Join(ctx context.Context, r *streampb.JoinRequest) (*streampb.JoinResponse, error) {
	name, issued, err := s.join(ctx, r)
	if err = s.count(ctx, "join", name, err); err != nil {
		return nil, err
	}
	return &streampb.JoinResponse{Issued: issued}, nil
}

func (s *Server) join(ctx context.Context, r *streampb.JoinRequest) (string, *streampb.Issued, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	name, err := TokenName(r.GetToken())
	if err != nil {
		return "", nil, &Refusal{Reason: InvalidToken, Err: err}
	}
	request, err := readRequest(r.GetCertificateRequest())
	if err != nil {
		return name, nil, &Refusal{Reason: InvalidRequest, Name: name, Err: err}
	}
	hash, key := hashToken(r.GetToken()), peer.KeyOfRequest(request)
	// Looked at first, so that nobody without a token makes us write.
	found, _, err := s.o.Store.Read(ctx, name)
	if err != nil {
		return name, nil, unavailable(name, err)
	}
	if err := s.use(name, hash, key, &found); err != nil {
		return name, nil, err
	}
	if err := s.o.Store.Change(ctx, name, func(r *Registration) error { return s.use(name, hash, key, r) }); err != nil {
		return name, nil, unavailable(name, err)
	}
	issued, err := s.issue(name, request)
	return name, issued, err
}

// use uses a token up for a key.
func (s *Server) use(name, hash, key string, r *Registration) error {
	refuse := func(reason Reason, text string) error {
		return &Refusal{Reason: reason, Name: name, Err: errors.New(text)}
	}
	switch t := r.Token; {
	case t == nil || !sameHash(t.Hash, hash):
		return refuse(InvalidToken, "the token is not one that was made for this name, or another one was made since")
	case s.o.Clock.Now().After(t.Expires):
		return refuse(TokenExpired, "the token expired on "+t.Expires.UTC().Format(time.RFC3339))
	case t.Used && r.Key != key:
		return refuse(TokenUsed, "the token has been used, by another key")
	}
	used := *r.Token
	used.Used = true
	r.Key, r.Site, r.Token = key, used.Site, &used
	return nil
}

// Renew implements streampb.BootServerCertificatesServer.
func (s *Server) Renew(ctx context.Context, r *streampb.RenewRequest) (*streampb.RenewResponse, error) {
	name, issued, err := s.renew(ctx, r)
	if err = s.count(ctx, "renew", name, err); err != nil {
		return nil, err
	}
	return &streampb.RenewResponse{Issued: issued}, nil
}

func (s *Server) renew(ctx context.Context, r *streampb.RenewRequest) (string, *streampb.Issued, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	leaf, err := s.former(ctx)
	if err != nil {
		return "", nil, &Refusal{Reason: NotTrusted, Err: err}
	}
	name, err := onlyName(leaf)
	if err != nil {
		return "", nil, &Refusal{Reason: NotTrusted, Err: err}
	}
	request, err := readRequest(r.GetCertificateRequest())
	if err != nil {
		return name, nil, &Refusal{Reason: InvalidRequest, Name: name, Err: err}
	}
	found, _, err := s.o.Store.Read(ctx, name)
	if err != nil {
		return name, nil, unavailable(name, err)
	}
	switch key := peer.KeyOf(leaf); {
	case found.Key == "":
		return name, nil, &Refusal{Reason: NotBound, Name: name, Err: errors.New("no key is bound to the name: the boot server has to join, with a token")}
	case found.Key != key:
		return name, nil, &Refusal{Reason: NotBound, Name: name, Err: errors.New("the name is bound to another key")}
	case peer.KeyOfRequest(request) != key:
		return name, nil, &Refusal{Reason: NotBound, Name: name, Err: errors.New("the request is for another key than that of the connection")}
	}
	issued, err := s.issue(name, request)
	return name, issued, err
}

// former is the certificate whose key the connection has proven.
func (s *Server) former(ctx context.Context) (*x509.Certificate, error) {
	caller, ok := grpcpeer.FromContext(ctx)
	if !ok {
		return nil, errors.New("the call came over no connection")
	}
	info, ok := caller.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil, errors.New("the connection is not TLS")
	}
	return s.o.Identity.Former(info.State)
}

// onlyName is the name of a certificate that we have issued: it has one.
func onlyName(leaf *x509.Certificate) (string, error) {
	if len(leaf.DNSNames) != 1 {
		return "", fmt.Errorf("the certificate has %d DNS names, and those that are issued here have one", len(leaf.DNSNames))
	}
	return peer.CheckName(leaf.DNSNames[0])
}

// issue takes from a request its public key alone: what it asks for beside that does not count.
func (s *Server) issue(name string, request *x509.CertificateRequest) (*streampb.Issued, error) {
	chain, err := s.o.Authority.Issue(request.PublicKey, name, authority.BootServer, s.o.Clock.Now(), s.o.Lifetime)
	if err != nil {
		return nil, unavailable(name, err)
	}
	return &streampb.Issued{Chain: chain, Authorities: s.o.Identity.Authorities()}, nil
}

// readRequest reads a request and checks that whoever made it has the private key.
func readRequest(der []byte) (*x509.CertificateRequest, error) {
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	// Before the signature: verifying by a huge key is expensive.
	if err := authority.CheckKey(request.PublicKey); err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	return request, nil
}

// unavailable is a Refusal for what is not the caller's fault; a Refusal stays as it is.
func unavailable(name string, err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return &Refusal{Reason: Unavailable, Name: name, Err: err}
}

// count writes down what became of a request, and returns its error.
func (s *Server) count(ctx context.Context, kind, name string, err error) error {
	logger := s.o.Logger
	if caller, ok := grpcpeer.FromContext(ctx); ok && caller.Addr != nil {
		logger = logger.WithValues("address", caller.Addr.String())
	}
	if err == nil {
		s.outcomes.WithLabelValues(kind, "issued").Inc()
		logger.Info("certificate issued to a boot server", "kind", kind, "name", name)
		return nil
	}
	reason := Unavailable
	if r, ok := errors.AsType[*Refusal](err); ok {
		reason = r.Reason
	}
	s.outcomes.WithLabelValues(kind, string(reason)).Inc()
	logger.Info("no certificate issued to a boot server", "kind", kind, "name", name, "reason", string(reason), "error", err)
	return err
}

// Describe implements prometheus.Collector.
func (s *Server) Describe(ch chan<- *prometheus.Desc) { s.outcomes.Describe(ch) }

// Collect implements prometheus.Collector.
func (s *Server) Collect(ch chan<- prometheus.Metric) { s.outcomes.Collect(ch) }
