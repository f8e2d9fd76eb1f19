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
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// serveHealth serves the health of the process from its start to its end.
func (s *System) serveHealth() error {
	return s.servePage("health-address", s.settings.HealthAddress, s.health(), nil)
}

// servePages serves metrics and profiles, where they have addresses. api says who may read them.
func (s *System) servePages(api client.Client) error {
	o := s.settings
	guard := func(public bool) *operator.Server {
		if public {
			return nil
		}
		return &operator.Server{API: api, Clock: clock.RealClock{}, Logger: s.logger.WithName("operator")}
	}
	return errors.Join(
		s.servePage("metrics-address", o.MetricsAddress, pages.Metrics(metrics.Registry), guard(o.MetricsPlain)),
		s.servePage("pprof-address", o.PprofAddress, pages.Profiles(), guard(pages.IsLoopback(o.PprofAddress))),
	)
}

// servePage serves a page until the system stops; without a guard to everybody, and without an address to nobody.
func (s *System) servePage(flag, address string, handler http.Handler, guard *operator.Server) error {
	if address == "" {
		return nil
	}
	listener, err := s.takesOperators(flag, address, guard != nil)
	if err != nil {
		return err
	}
	s.pages = append(s.pages, listener)
	if guard != nil {
		identity, err := s.pageIdentity(setup.DeriveURL(listener.Addr(), s.settings.Loopback, true))
		if err != nil {
			return err
		}
		handler, listener = guard.Protect(handler), tls.NewListener(listener, identity.TLS())
	}
	shutdown := pages.Shutdown
	page := &manager.Server{Name: strings.TrimSuffix(flag, "-address"), Server: pages.Server(handler, s.logger), Listener: listener, ShutdownTimeout: &shutdown}
	s.run("server at --"+flag, page.Start)
	return nil
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
