package system

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/host/boundedfile"
	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
)

// checkOperator reads what is said of the operators' address.
func (s *settings) checkOperator() error {
	var errs []error
	if s.RecordConsoles && s.OperatorAddress == "" {
		errs = append(errs, errors.New("--record-consoles: needs --operator-address, which the logbook is read at"))
	}
	if s.OperatorURL != "" {
		if u, err := url.Parse(s.OperatorURL); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			errs = append(errs, fmt.Errorf("--operator-url: %q is not an https URL without a query", s.OperatorURL))
		}
		s.OperatorURL = strings.TrimRight(s.OperatorURL, "/")
	}
	cas, err := certPool(s.OperatorClientCAFile)
	if err != nil {
		errs = append(errs, fmt.Errorf("--operator-client-ca-file: %w", err))
	}
	s.operatorClientCAs = cas
	return errors.Join(errs...)
}

// listenForOperators opens the operators' listener, if there is one, and finds out its URL.
func (s *System) listenForOperators() error {
	if s.settings.OperatorAddress == "" {
		return nil
	}
	listener, reached, err := s.listen("operator-address", s.settings.OperatorAddress, true)
	if err != nil {
		return err
	}
	s.operatorListener = listener
	if s.OperatorURL = s.settings.OperatorURL; s.OperatorURL == "" {
		s.OperatorURL = reached
	}
	return nil
}

// Issuer makes certificates that clients of its API trust.
type Issuer interface {
	// Serving is a certificate for a server of that name that listens at that IP and is reached under these hosts.
	Serving(name string, listen net.IP, hosts ...string) (tls.Certificate, error)
	// Authority is the certificate of its authority, PEM, which also signs client certificates.
	Authority() []byte
}

// UseIssuer has the certificate of the operators' address issued, where no files hold one, and takes the client certificates of
// the same authority. It has to come before Start.
func (s *System) UseIssuer(issuer Issuer) error {
	if err := errors.Join(s.settings.trustClients(issuer.Authority()), s.issueMetrics(issuer)); err != nil {
		return err
	}
	if s.operatorListener == nil {
		return nil
	}
	if s.settings.OperatorCertFile != "" || s.settings.OperatorKeyFile != "" {
		return nil
	}
	var ip net.IP
	if tcp, ok := s.operatorListener.Addr().(*net.TCPAddr); ok {
		ip = tcp.IP
	}
	certificate, err := issuer.Serving("operator", ip, hostOf(s.OperatorURL))
	if err != nil {
		return fmt.Errorf("certificate of the operator address: %w", err)
	}
	s.operatorCertificate, s.operatorCA = &certificate, issuer.Authority()
	return nil
}

// addOperator puts the operators' address beside the controllers, where there is one.
func (t *term) addOperator(mgr ctrl.Manager) error {
	s := t.System
	if s.settings.OperatorAddress == "" {
		return nil
	}
	if s.operatorCertificate == nil {
		certificate, ca, err := s.settings.operatorCertificate(s.OperatorURL)
		if err != nil {
			return err
		}
		s.operatorCertificate, s.operatorCA = &certificate, ca
	}
	consoles := t.consoles(mgr)
	if err := mgr.Add(named("serial consoles", consoles.Run)); err != nil {
		return err
	}
	if t.servers != nil {
		if err := t.recordConsoles(mgr, consoles); err != nil {
			return err
		}
	}
	unknown := bootserver.UnknownNow(s.view, s.profiles, &s.unknown, &s.history, clock.RealClock{})
	server := &operator.Server{
		API: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: s.settings.ManagerNamespace, History: &s.history, Logbook: s.logbook, Console: consoles,
		Explain: bootserver.Explain(s.view, s.profiles), Unknown: bootserver.Unknown(unknown), Clock: clock.RealClock{}, Logger: s.logger.WithName("operator"),
	}
	if err := s.addDashboard(mgr, server, unknown); err != nil {
		return err
	}
	identity := operator.Identity{Certificate: *s.operatorCertificate, ClientCAs: s.settings.operatorClientCAs, Names: hostcheck.Names(s.OperatorURL)}
	return mgr.Add(named("operator address", func(ctx context.Context) error {
		listener, err := s.openedForTerm(s.operatorListener, "operator-address", s.settings.OperatorAddress)
		if err != nil {
			return err
		}
		s.logger.V(1).Info("operator server listens", "address", listener.Addr().String(), "url", s.OperatorURL)
		if err := operator.Publish(ctx, mgr.GetClient(), mgr.GetAPIReader(), s.settings.ManagerNamespace, operator.Address{URL: s.OperatorURL, CA: s.operatorCA}); err != nil {
			s.logger.Info("operator address not published: 'farrier timeline' needs --operator-url", "error", err)
		}
		return server.Serve(ctx, s.callers.operators.TLSListener(listener, operatorPace), identity)
	}))
}

// operatorCertificate is what the files hold, or one that is made now, with what it can be verified with. Who signed the one of the
// files is known to whoever put it there.
func (o *Options) operatorCertificate(reached string) (tls.Certificate, []byte, error) {
	return servingCertificate("operator", o.OperatorCertFile, o.OperatorKeyFile, reached)
}

// servingCertificate is operatorCertificate for an address whose flags begin with a name.
func servingCertificate(name, certFile, keyFile, reached string) (tls.Certificate, []byte, error) {
	if certFile != "" || keyFile != "" {
		pair, err := boundedfile.KeyPair(certFile, keyFile)
		if err != nil {
			return pair, nil, fmt.Errorf("--%s-cert-file and --%s-key-file: %w", name, name, err)
		}
		return pair, nil, nil
	}
	ips := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	host := hostOf(reached)
	if ip := net.ParseIP(host); ip != nil {
		ips = append(ips, ip)
	}
	if host == "" {
		host = "localhost"
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(host, ips, []string{"localhost"})
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("certificate of the %s address: %w", name, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return pair, nil, fmt.Errorf("certificate of the %s address: %w", name, err)
	}
	return pair, cert, nil
}

// hostOf is the host of a URL, without its port; empty: it has none.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
