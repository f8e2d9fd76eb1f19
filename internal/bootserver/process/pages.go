package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"time"

	"github.com/farrier-dev/farrier/internal/host/boundedfile"
	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inbound/pages"
)

// operatorPace is for probes and scrapers, which keep their connections.
var operatorPace = inbound.Pace{PerSecond: 50, Burst: 500}

// listenForOperators opens the listeners of health, metrics and profiles.
func (p *process) listenForOperators() error {
	health := http.NewServeMux()
	health.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	health.HandleFunc("/readyz", p.readyz)
	if err := p.addPage("health-address", p.o.HealthAddress, health, nil); err != nil {
		return err
	}
	var secure *tls.Config
	if p.o.MetricsAddress != "" && !p.o.MetricsPlain {
		m := &metricsTLS{p.o}
		if _, err := m.config(nil); err != nil {
			return err
		}
		secure = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: m.config}
	}
	if err := p.addPage("metrics-address", p.o.MetricsAddress, pages.Metrics(p.metrics), secure); err != nil {
		return err
	}
	return p.addPage("pprof-address", p.o.PprofAddress, pages.Profiles(), nil)
}

func (p *process) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := p.status.ready(); err != nil {
		w.Header().Set("Retry-After", "2")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (p *process) addPage(flag, address string, handler http.Handler, secure *tls.Config) error {
	if address == "" {
		return nil
	}
	listener, err := p.listen(flag, address)
	if err != nil {
		return err
	}
	if secure != nil {
		listener = tls.NewListener(p.operators.TLSListener(listener, operatorPace), secure)
	} else {
		listener = p.operators.Listener(listener)
	}
	p.logger.V(1).Info("page served", "flag", "--"+flag, "address", listener.Addr().String())
	p.serving = append(p.serving, func(ctx context.Context) error {
		return inbound.Serve(ctx, "pages", pages.Server(handler, p.logger), listener, pages.Shutdown)
	})
	return nil
}

// metricsTLS reads the files for each connection: scrapers keep theirs, and the files may have been replaced since.
type metricsTLS struct{ o *Options }

func (m *metricsTLS) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	pair, err := boundedfile.KeyPair(m.o.MetricsCertFile, m.o.MetricsKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--metrics-cert-file: %w", err)
	}
	bundle, err := boundedfile.Read(m.o.MetricsClientCAFile, boundedfile.Certificates)
	if err != nil {
		return nil, fmt.Errorf("--metrics-client-ca-file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("--metrics-client-ca-file: %s holds no PEM certificate", m.o.MetricsClientCAFile)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots,
		NextProtos: []string{"h2", "http/1.1"}, SessionTicketsDisabled: true,
	}, nil
}

// stopWithin is how long what waits may take to reach a manager when the process stops.
const stopWithin = 5 * time.Second
