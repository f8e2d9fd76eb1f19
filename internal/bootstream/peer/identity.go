package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// interval is how often files and open connections are looked at. Secrets that Kubernetes mounts change within a minute, so nobody waits
// for more than that.
const interval = 10 * time.Second

// Identity is who we are on the boot stream, and whom we trust. It is safe for concurrent use.
type Identity struct {
	files    Files
	clock    clock.WithTicker
	logger   logr.Logger
	current  atomic.Pointer[material]
	failures prometheus.Counter
	expiry   *prometheus.Desc

	mu sync.Mutex // held while files are read
	// refused are the contents that were refused last, which is said once.
	refused *contents
}

// Options are what an Identity needs beside its files.
type Options struct {
	Clock  clock.WithTicker // nil: the real one
	Logger logr.Logger
}

// FromFiles reads an Identity. A certificate that has expired is no error here: a boot server renews with it, and goes on meanwhile.
func FromFiles(f Files, o Options) (*Identity, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	i := &Identity{
		files: f, clock: o.Clock, logger: o.Logger,
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "farrier_boot_stream_certificate_reload_failures_total",
			Help: "New files of our certificate or of its authorities that could not be used, so that the previous ones stay.",
		}),
		expiry: prometheus.NewDesc("farrier_boot_stream_certificate_expiry_timestamp_seconds",
			"When the certificate that we show on the boot stream ends, in seconds since 1970.", nil, nil),
	}
	c, err := f.read()
	if err != nil {
		return nil, err
	}
	m, err := f.parse(c)
	if err != nil {
		return nil, err
	}
	if err := m.current(f, i.clock.Now()); err != nil {
		i.logger.Error(err, "certificate of the boot stream is not valid now")
	}
	i.current.Store(m)
	return i, nil
}

// Run looks for newer files until ctx ends.
func (i *Identity) Run(ctx context.Context) error {
	tick := i.clock.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C():
			_ = i.Reload() // said in the log
		}
	}
}

// Reload reads the files now, for whoever has just written them. Files that cannot be used change nothing.
func (i *Identity) Reload() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.current.Load()
	c, err := i.files.read()
	if err == nil && c.equal(before.contents) {
		i.refused = nil
		return nil
	}
	var next *material
	if err == nil {
		// Looked at each time: a certificate may begin a moment from now.
		if next, err = i.files.parse(c); err == nil {
			err = next.current(i.files, i.clock.Now())
		}
	}
	if err != nil {
		if i.refused == nil || !i.refused.equal(c) {
			i.failures.Inc()
			i.logger.Error(err, "certificate of the boot stream not reloaded, keeping the previous one", "expires", before.certificate.Leaf.NotAfter.UTC().Format(time.RFC3339))
		}
		i.refused = &c
		return err
	}
	i.refused = nil
	i.current.Store(next)
	i.logger.Info("certificate of the boot stream reloaded", "expires", next.certificate.Leaf.NotAfter.UTC().Format(time.RFC3339), "names", next.certificate.Leaf.DNSNames)
	return nil
}

// Leaf is the certificate that is shown now.
func (i *Identity) Leaf() *x509.Certificate { return i.current.Load().certificate.Leaf }

// Authorities are whom we trust, PEM.
func (i *Identity) Authorities() []byte { return i.current.Load().pem }

// ClientConfig is how a boot server speaks to the manager of that DNS name, whatever address it dials.
func (i *Identity) ClientConfig(manager string) *tls.Config {
	config := clientConfig(manager, func() trust { return i.current.Load().trust }, i.clock)
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.current.Load().certificate, nil }
	return config
}

// AnonymousConfig is how a boot server that has no certificate yet speaks to the manager of that DNS name. authorities is PEM.
func AnonymousConfig(authorities []byte, manager string, c clock.PassiveClock) (*tls.Config, error) {
	t, err := readTrust(authorities)
	if err != nil {
		return nil, err
	}
	return clientConfig(manager, func() trust { return t }, c), nil
}

func clientConfig(manager string, trusted func() trust, c clock.PassiveClock) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		ServerName: manager,
		// The standard verification would take a wildcard. VerifyConnection does all of it, and more strictly; without it nothing connects.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			err := trusted().verify(s.PeerCertificates, x509.ExtKeyUsageServerAuth, c.Now())
			if err == nil {
				err = named(s.PeerCertificates[0], manager)
			}
			if r, ok := errors.AsType[*Refusal](err); ok {
				r.byUs = true
			}
			return err
		},
	}
}

// serverConfig shows our certificate and asks for one. What is done about it is the caller's affair.
func (i *Identity) serverConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.current.Load().certificate, nil },
		ClientAuth:     tls.RequestClientCert,
		// A ticket would stand for a certificate that has been replaced.
		SessionTicketsDisabled: true,
	}
}

// EnrollConfig is for the listener of package enroll, whose clients may have no certificate or one that has ended. The handshake proves the
// key of whatever certificate is shown (RFC 8446 §4.4.3), and nothing else.
func (i *Identity) EnrollConfig() *tls.Config { return i.serverConfig() }

// Former returns the certificate by which a boot server is known that may have ended: its chain is verified as of its own lifetime.
func (i *Identity) Former(s tls.ConnectionState) (*x509.Certificate, error) {
	if s.Version < tls.VersionTLS13 {
		return nil, &Refusal{Reason: OldTLS, Err: errors.New("the connection is not TLS 1.3")}
	}
	if err := i.current.Load().former(s.PeerCertificates, x509.ExtKeyUsageClientAuth, i.clock.Now()); err != nil {
		return nil, err
	}
	return s.PeerCertificates[0], nil
}

// Describe implements prometheus.Collector.
func (i *Identity) Describe(ch chan<- *prometheus.Desc) {
	ch <- i.expiry
	i.failures.Describe(ch)
}

// Collect implements prometheus.Collector.
func (i *Identity) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(i.expiry, prometheus.GaugeValue, float64(i.Leaf().NotAfter.Unix()))
	i.failures.Collect(ch)
}
