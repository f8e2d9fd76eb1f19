package boottls

import (
	"bytes"
	"context"
	"crypto/tls"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Intervals at which an Identity looks whether there is a newer certificate. Secrets that Kubernetes mounts as files change
// within a minute, so nobody waits for more than that.
const (
	filesInterval     = 10 * time.Second
	authorityInterval = time.Hour
)

// Identity is the certificate that new connections are shown. It is safe for concurrent use.
type Identity struct {
	current  atomic.Pointer[tls.Certificate]
	turns    turns
	clock    clock.WithTicker
	logger   logr.Logger
	interval time.Duration
	// refresh returns the certificate that is to be shown from now on; nil: the current one stays.
	refresh func(now time.Time) (*tls.Certificate, error)
	ca      []byte
}

// Options are what both kinds of Identity need.
type Options struct {
	// Names are the IP addresses and DNS names under which machines reach the boot server.
	Names  []string
	Clock  clock.WithTicker
	Logger logr.Logger
}

// FromAuthority is an Identity whose certificates an authority of our own signs.
func FromAuthority(a *Authority, o Options) (*Identity, error) {
	i := &Identity{turns: newTurns(), clock: o.Clock, logger: o.Logger, interval: authorityInterval, ca: a.PEM()}
	i.refresh = func(now time.Time) (*tls.Certificate, error) {
		if shown := i.current.Load(); shown != nil && now.Before(shown.Leaf.NotAfter.Add(-renewBefore)) {
			return nil, nil
		}
		return a.issue(o.Names, now)
	}
	return i, i.update()
}

// FromFiles is an Identity whose certificates are the user's. Files that cannot be used at first are an error.
func FromFiles(f Files, o Options) (*Identity, error) {
	ca, err := f.ReadCA()
	if err != nil {
		return nil, err
	}
	i := &Identity{turns: newTurns(), clock: o.Clock, logger: o.Logger, interval: filesInterval, ca: ca}
	var cert, key []byte // of the certificate that is shown
	var said string      // what was wrong the last time, to be said once
	i.refresh = func(now time.Time) (*tls.Certificate, error) {
		nextCert, nextKey, err := f.read()
		if err == nil && bytes.Equal(nextCert, cert) && bytes.Equal(nextKey, key) {
			said = ""
			return nil, nil
		}
		var next *tls.Certificate
		if err == nil {
			// What is refused is looked at each time: a certificate may begin a moment from now.
			next, err = f.check(nextCert, nextKey, ca, o.Names, now)
		}
		if err != nil {
			if said == err.Error() {
				return nil, nil
			}
			said = err.Error()
			return nil, err
		}
		cert, key, said = nextCert, nextKey, ""
		return next, nil
	}
	return i, i.update()
}

// CA is what machines verify the certificates with, PEM; nil: that is not known.
func (i *Identity) CA() []byte { return i.ca }

// Run keeps the certificate up to date until ctx ends.
func (i *Identity) Run(ctx context.Context) error {
	tick := i.clock.NewTicker(i.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C():
		}
		if err := i.update(); err != nil {
			i.logger.Error(err, "certificate of the boot server not renewed, keeping the previous one", "expires", i.current.Load().Leaf.NotAfter.UTC().Format(time.RFC3339))
		}
	}
}

func (i *Identity) update() error {
	next, err := i.refresh(i.clock.Now())
	if err != nil || next == nil {
		return err
	}
	if i.current.Swap(i.turns.inTurn(next)) != nil {
		i.logger.Info("boot server has a new certificate", "expires", next.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// Leaf is the certificate that is shown now.
func (i *Identity) Leaf() *tls.Certificate { return i.current.Load() }

// ServerConfig is how the boot server speaks TLS. UEFI firmware of EDK II before 2023, which is most of what is in racks, and
// iPXE before 2024 know no elliptic curves: what they have in common with us are the cipher suites of TLS 1.2 in which the
// client encrypts to the certificate's key. Those have no forward secrecy; forwardSecrecy leaves them out. Whoever knows
// better ones is never given them, and nobody in between can change that: both sides sign what was offered (RFC 5246 §7.4.9).
func (i *Identity) ServerConfig(forwardSecrecy bool) *tls.Config {
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.current.Load(), nil },
		// A ticket would let a client go on with a certificate that has been replaced, and firmware uses none.
		SessionTicketsDisabled: true,
	}
	if !forwardSecrecy {
		for _, suite := range tls.CipherSuites() {
			config.CipherSuites = append(config.CipherSuites, suite.ID)
		}
		config.CipherSuites = append(config.CipherSuites,
			tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_RSA_WITH_AES_128_CBC_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA)
	}
	return config
}
