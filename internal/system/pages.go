package system

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bootserver/setup"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/inbound/pages"
)

// Metrics, health and profiles are served whoever's turn it is, each at an address of its own. controller-runtime could serve them,
// but not from a budget of connections.

// checkPages: what is not for everybody is not given to everybody.
func (s *settings) checkPages() error {
	var errs []error
	if s.MetricsPlain && s.MetricsAddress != "" && !pages.IsLoopback(s.MetricsAddress) {
		errs = append(errs, fmt.Errorf("--metrics-plain: %s is no loopback address; elsewhere metrics are served over HTTPS, to callers with a token", s.MetricsAddress))
	}
	if (s.MetricsCertFile == "") != (s.MetricsKeyFile == "") {
		errs = append(errs, errors.New("--metrics-cert-file: a certificate needs its key, in --metrics-key-file"))
	}
	return errors.Join(errs...)
}

// addPages puts metrics, health and profiles beside the controllers, where they have addresses.
func (s *System) addPages(mgr ctrl.Manager) error {
	o := s.settings
	for _, page := range []struct {
		flag, address string
		handler       http.Handler
		public        bool
	}{
		{"health-address", o.HealthAddress, s.health(), true},
		{"metrics-address", o.MetricsAddress, pages.Metrics(metrics.Registry), o.MetricsPlain},
		{"pprof-address", o.PprofAddress, pages.Profiles(), pages.IsLoopback(o.PprofAddress)},
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
	shutdown := pages.Shutdown
	return mgr.Add(&manager.Server{Name: strings.TrimSuffix(flag, "-address"), Server: pages.Server(handler, s.logger), Listener: listener, ShutdownTimeout: &shutdown})
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
