package system

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/controller/operator"
)

// addOperator puts the operators' address beside the controllers, where there is one.
func (s *System) addOperator(mgr ctrl.Manager) error {
	if s.settings.OperatorAddress == "" {
		return nil
	}
	certificate, err := s.settings.operatorCertificate()
	if err != nil {
		return err
	}
	server := &operator.Server{
		API: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: s.settings.ManagerNamespace, History: &s.history,
		Explain: bootserver.Explain(s.view, s.profiles), Logger: s.logger.WithName("operator"),
	}
	return mgr.Add(named("operator address", func(ctx context.Context) error {
		listener, err := opened(nil, "operator-address", s.settings.OperatorAddress)
		if err != nil {
			return err
		}
		s.logger.V(1).Info("Operators are answered", "address", listener.Addr().String())
		return server.Serve(ctx, listener, certificate)
	}))
}

// operatorCertificate is what the files hold, or one that is made now and that nobody can verify: a token is then as safe as the
// way to this address.
func (o *Options) operatorCertificate() (tls.Certificate, error) {
	if o.OperatorCertFile != "" || o.OperatorKeyFile != "" {
		pair, err := tls.LoadX509KeyPair(o.OperatorCertFile, o.OperatorKeyFile)
		if err != nil {
			return pair, fmt.Errorf("--operator-cert-file and --operator-key-file: %w", err)
		}
		return pair, nil
	}
	host, _, err := net.SplitHostPort(o.OperatorAddress)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("--operator-address: %w", err)
	}
	if host == "" {
		host = "localhost"
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(host, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, nil)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate of the operator address: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return pair, fmt.Errorf("certificate of the operator address: %w", err)
	}
	return pair, nil
}
