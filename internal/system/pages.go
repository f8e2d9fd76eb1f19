package system

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bootserver/setup"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
)

// Metrics, health and profiles are served whoever's turn it is, each at an address of its own. controller-runtime could serve them,
// but not from a budget of connections.

const (
	pageHeader = 10 * time.Second
	pageRead   = 30 * time.Second
	// pageWrite leaves room for a profile of a minute.
	pageWrite    = 2 * time.Minute
	pageShutdown = 5 * time.Second
	maxHeader    = 32 << 10 // room for a bearer token
)

// checkPages: what is not for everybody is not given to everybody.
func (s *settings) checkPages() error {
	var errs []error
	if s.MetricsPlain && s.MetricsAddress != "" && !isLoopback(s.MetricsAddress) {
		errs = append(errs, fmt.Errorf("--metrics-plain: %s is no loopback address; elsewhere metrics are served over HTTPS, to callers with a token", s.MetricsAddress))
	}
	if (s.MetricsCertFile == "") != (s.MetricsKeyFile == "") {
		errs = append(errs, errors.New("--metrics-cert-file: a certificate needs its key, in --metrics-key-file"))
	}
	return errors.Join(errs...)
}

// isLoopback reports whether host:port can be reached from this host alone.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// addPages puts metrics, health and profiles beside the controllers, where they have addresses.
func (s *System) addPages(mgr ctrl.Manager) error {
	profiles := http.NewServeMux()
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	profiles.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)
	figures := http.NewServeMux()
	figures.Handle("/metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: 8}))
	o := s.settings
	for _, page := range []struct {
		flag, address string
		handler       http.Handler
		public        bool
	}{
		{"health-address", o.HealthAddress, s.health(), true},
		{"metrics-address", o.MetricsAddress, figures, o.MetricsPlain},
		{"pprof-address", o.PprofAddress, profiles, isLoopback(o.PprofAddress)},
	} {
		if page.address == "" {
			continue
		}
		if err := s.addPage(mgr, page.flag, page.address, page.handler, page.public); err != nil {
			return err
		}
	}
	return nil
}

func (s *System) addPage(mgr ctrl.Manager, flag, address string, handler http.Handler, public bool) error {
	listener, err := s.takesOperators(flag, address, !public)
	if err != nil {
		return err
	}
	s.pages = append(s.pages, listener)
	if !public {
		identity, err := s.pageIdentity(setup.DeriveURL(listener.Addr(), s.settings.Loopback, true))
		if err != nil {
			return err
		}
		guard := &operator.Server{API: mgr.GetClient(), Clock: clock.RealClock{}, Logger: s.logger.WithName("operator")}
		handler, listener = guard.Protect(handler), tls.NewListener(listener, identity.TLS())
	}
	shutdown := pageShutdown
	return mgr.Add(&manager.Server{Name: strings.TrimSuffix(flag, "-address"), Server: pageServer(handler, s.logger), Listener: listener, ShutdownTimeout: &shutdown})
}

// pageServer answers from this host only those who mean it (package hostcheck).
func pageServer(handler http.Handler, logger logr.Logger) *http.Server {
	return inbound.Prepare(&http.Server{
		Handler: hostcheck.Handler(handler), ReadHeaderTimeout: pageHeader, ReadTimeout: pageRead, WriteTimeout: pageWrite, IdleTimeout: pageWrite,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(details{logger}, "", 0),
	})
}

// pageIdentity is that of the addresses of metrics and of profiles: of the files, else issued by the API of farrier up, else made now.
func (s *System) pageIdentity(reached string) (operator.Identity, error) {
	identity := operator.Identity{ClientCAs: s.settings.operatorClientCAs}
	if s.metricsCertificate != nil {
		identity.Certificate = *s.metricsCertificate
		return identity, nil
	}
	o := s.settings
	certificate, _, err := servingCertificate("metrics", o.MetricsCertFile, o.MetricsKeyFile, reached)
	if err != nil {
		return identity, err
	}
	s.metricsCertificate = &certificate
	identity.Certificate = certificate
	return identity, nil
}

// issueMetrics has the certificate of the metrics' address issued, where one is needed and no file holds it.
func (s *System) issueMetrics(issuer Issuer) error {
	o := s.settings
	if o.MetricsAddress == "" || o.MetricsPlain || o.MetricsCertFile != "" {
		return nil
	}
	at, err := net.ResolveTCPAddr("tcp", o.MetricsAddress)
	if err != nil {
		return fmt.Errorf("--metrics-address: %w", err)
	}
	certificate, err := issuer.Serving("metrics", at.IP, hostOf(setup.DeriveURL(at, o.Loopback, true)))
	if err != nil {
		return fmt.Errorf("certificate of the metrics address: %w", err)
	}
	s.metricsCertificate = &certificate
	return nil
}

// trustClients has the client certificates of an authority taken.
func (s *settings) trustClients(authority []byte) error {
	if s.operatorClientCAs == nil {
		s.operatorClientCAs = x509.NewCertPool()
	}
	if !s.operatorClientCAs.AppendCertsFromPEM(authority) {
		return errors.New("certificate of the operator address: its authority is no PEM certificate")
	}
	return nil
}

// health answers /healthz and /readyz. A process that stands by is ready too: it has the caches, and could take over at once.
func (s *System) health() http.Handler {
	mux := http.NewServeMux()
	for path, check := range map[string]*healthz.Handler{
		"/healthz": {Checks: map[string]healthz.Checker{"ping": healthz.Ping}},
		"/readyz":  {Checks: map[string]healthz.Checker{"caches": s.cachesFull}},
	} {
		mux.Handle(path, http.StripPrefix(path, check))
		mux.Handle(path+"/", http.StripPrefix(path, check)) // the checks one by one
	}
	return mux
}

// details turns net/http's log, which is about clients that misbehave, into details.
type details struct{ logr.Logger }

func (d details) Write(p []byte) (int, error) {
	d.V(1).Info("connection failed", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}
