package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	controllerwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/farrier-dev/farrier/internal/admission"
	"github.com/farrier-dev/farrier/internal/admission/webhook/rotation"
	"github.com/farrier-dev/farrier/internal/controller/watchfilter"
	"github.com/farrier-dev/farrier/internal/host/boundedfile"
	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
)

// Options say where the webhooks are served and which files their certificate is in. The files are read again when they change. Without files the
// managers of an installation make the certificate (package rotation).
type Options struct {
	// Address is host:port; empty: no webhooks.
	Address           string
	CertFile, KeyFile string
}

// Bind binds the options to flags.
func (o *Options) Bind(f *pflag.FlagSet) {
	f.StringVar(&o.Address, "webhook-address", "", "host:port of the admission webhooks of config/webhook (default: none)")
	f.StringVar(&o.CertFile, "webhook-cert-file", "", "PEM certificate for --webhook-address; Farrier reloads it when it changes (default: Farrier makes one, and tells API servers by the webhook configurations \"farrier\", or \"farrier.VALUE\" with --watch-filter)")
	f.StringVar(&o.KeyFile, "webhook-key-file", "", "PEM private key of --webhook-cert-file, in the same directory")
}

// Server answers API servers. As controller-runtime's it is registered with and run; it listens by itself.
type Server struct {
	controllerwebhook.Server
	options Options
	// hosts are the names of its certificate.
	hosts []string
	// certificate is what API servers are shown; nil until Start or Beside says where it comes from.
	certificate certificate
	logger      logr.Logger
	// Listener puts connections to a budget (package inbound); nil: to none.
	Listener func(net.Listener) net.Listener
}

// certificate is what API servers are shown. Start keeps it up to date until its context ends.
type certificate interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Start(ctx context.Context) error
}

// Server makes the server, which is not started. It is nil without an address.
func (o *Options) Server() (*Server, error) {
	if o.Address == "" {
		if o.CertFile != "" || o.KeyFile != "" {
			return nil, errors.New("--webhook-cert-file, --webhook-key-file: nothing is served without --webhook-address")
		}
		return nil, nil
	}
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("--webhook-address: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return nil, fmt.Errorf("--webhook-address: port %q is not a number from 1 to 65535", port)
	}
	server := &Server{Server: controllerwebhook.NewServer(controllerwebhook.Options{Host: host, Port: int(number)}), options: *o, logger: logr.Discard()}
	if o.CertFile == "" && o.KeyFile == "" {
		return server, nil
	}
	if filepath.Dir(o.CertFile) != filepath.Dir(o.KeyFile) {
		return nil, errors.New("--webhook-cert-file, --webhook-key-file: have to be in the same directory")
	}
	pair, err := boundedfile.KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("--webhook-cert-file, --webhook-key-file: %w", err)
	}
	server.hosts = pair.Leaf.DNSNames
	return server, nil
}

// connections takes what net/http says of connections that fail: anybody may make one, and an API server without the authority makes many.
type connections struct{ logger logr.Logger }

func (c connections) Write(line []byte) (int, error) {
	c.logger.V(1).Info("connection to the webhooks failed", "message", strings.TrimSpace(string(line)))
	return len(line), nil
}

// How long a request, its answer, and the end of the server may take; admission itself has its own deadline.
const (
	headerTimeout   = 10 * time.Second
	answerTimeout   = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
)

// Start implements manager.Runnable.
func (s *Server) Start(ctx context.Context) error {
	if s.certificate == nil {
		watcher, err := certwatcher.New(s.options.CertFile, s.options.KeyFile)
		if err != nil {
			return fmt.Errorf("--webhook-cert-file, --webhook-key-file: %w", err)
		}
		s.certificate = watcher
	}
	defer showExpiry(s.certificate)()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("--webhook-address: %w", err)
	}
	if s.Listener != nil {
		listener = s.Listener(listener)
	}
	srv := inbound.Prepare(&http.Server{
		Handler: hostcheck.Handler(s.WebhookMux(), s.hosts...), ReadHeaderTimeout: headerTimeout, ReadTimeout: answerTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
		ErrorLog:  log.New(connections{s.logger}, "", 0),
		TLSConfig: &tls.Config{GetCertificate: s.certificate.GetCertificate, MinVersion: tls.VersionTLS12},
	})
	watched, served := make(chan error, 1), make(chan error, 1)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { watched <- s.certificate.Start(watching) }()
	go func() { served <- srv.ServeTLS(listener, "", "") }()
	select {
	case err = <-served:
	case err = <-watched:
	case <-ctx.Done():
	}
	cancel()
	stop, release := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer release()
	if srv.Shutdown(stop) != nil {
		_ = srv.Close()
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("webhooks at %s: %w", s.options.Address, err)
}

// Register puts the handlers on a server.
func Register(server controllerwebhook.Server, rules *admission.Rules, logger logr.Logger) {
	for path, handler := range Handlers(rules, logger) {
		server.Register(path, handler)
	}
}

// makesItsOwn has the certificate made and kept up to date by the managers themselves.
func (s *Server) makesItsOwn(mgr manager.Manager, of Installation, logger logr.Logger) error {
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("client for the certificate of the webhooks: %w", err)
	}
	s.hosts = []string{rotation.Name(of.Namespace)}
	s.certificate = rotation.New(of.Filter.Client(direct, direct), of.Namespace, of.Filter.Named(rotation.Configurations), clock.RealClock{}, logger)
	return nil
}

// Installation is whose webhooks they are.
type Installation struct {
	// Namespace is the managers'.
	Namespace string
	// ForeignBoot says that somebody else delivers boots.
	ForeignBoot bool
	// Filter says which objects are judged.
	Filter watchfilter.Filter
}

// Beside has a manager run the server. Every replica of it answers, whoever leads; nil is no server.
func Beside(server *Server, of Installation, logger logr.Logger) func(manager.Manager) error {
	return func(mgr manager.Manager) error {
		if server == nil {
			return nil
		}
		assignments := admission.NewAssignments()
		if err := assignments.Follow(context.Background(), mgr.GetCache()); err != nil {
			return err
		}
		server.logger = logger
		if server.options.CertFile == "" {
			if err := server.makesItsOwn(mgr, of, logger); err != nil {
				return err
			}
		}
		Register(server, &admission.Rules{
			ManagerNamespace: of.Namespace, ForeignBoot: of.ForeignBoot, Belongs: of.Filter.Covers,
			Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Assignments: assignments,
		}, logger)
		return mgr.Add(server)
	}
}
