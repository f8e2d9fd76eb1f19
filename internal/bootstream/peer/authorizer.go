package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"
	grpcpeer "google.golang.org/grpc/peer"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
)

// Peer is a boot server that may speak.
type Peer struct {
	Name, Site string
	// Issued is when its certificate began, and Expires when it ends, and with it the connection.
	Issued, Expires time.Time
}

// refusalsEvery is how often one reason is in the log: anybody on the network can be refused as often as they like.
const refusalsEvery = 10 * time.Second

// Authorizer decides at a manager which boot servers may speak. It is safe for concurrent use.
type Authorizer struct {
	identity *Identity
	table    atomic.Pointer[Table]
	metrics  *metrics
	// refusals are the lines of the log about each reason.
	refusals map[Reason]*ratelimit.Lines

	mu   sync.Mutex
	open map[*connection]struct{}
}

// NewAuthorizer authorizes the boot servers of a table whose certificates an Identity trusts.
func NewAuthorizer(i *Identity, t Table) *Authorizer {
	a := &Authorizer{identity: i, metrics: newMetrics(), refusals: map[Reason]*ratelimit.Lines{}, open: map[*connection]struct{}{}}
	for _, reason := range Reasons {
		a.refusals[reason] = ratelimit.NewLines(1, refusalsEvery, i.logger, i.clock)
	}
	t = maps.Clone(t)
	a.table.Store(&t)
	return a
}

// SetTable replaces the table. Connections of boot servers that the new one does not allow are closed at once.
func (a *Authorizer) SetTable(t Table) {
	t = maps.Clone(t)
	a.table.Store(&t)
	a.metrics.keep(t)
	a.recheck()
}

// Run closes connections whose peers may not speak any more, until ctx ends.
func (a *Authorizer) Run(ctx context.Context) error {
	tick := a.identity.clock.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C():
			a.recheck()
		}
	}
}

// ServerConfig is how a manager speaks TLS: 1.3 alone, with boot servers of the table alone. Credentials adds what TLS does not have.
func (a *Authorizer) ServerConfig() *tls.Config {
	config := a.identity.serverConfig()
	// All checks are here, and none is that of the standard library, whose errors have no type.
	config.VerifyConnection = func(s tls.ConnectionState) error {
		_, err := a.authorize(s.PeerCertificates)
		return err
	}
	return config
}

// Peer is who has made the call that a handler's context belongs to, authorized again. Its error is a Refusal.
func (a *Authorizer) Peer(ctx context.Context) (Peer, error) {
	caller, ok := grpcpeer.FromContext(ctx)
	if !ok {
		return Peer{}, &Refusal{Reason: Plaintext, Err: errors.New("the call came over no connection")}
	}
	info, ok := caller.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return Peer{}, &Refusal{Reason: Plaintext, Err: errors.New("the connection is not TLS")}
	}
	return a.authorize(info.State.PeerCertificates)
}

// authorize decides who a peer is by its certificates.
func (a *Authorizer) authorize(certs []*x509.Certificate) (Peer, error) {
	if err := a.identity.current.Load().verify(certs, x509.ExtKeyUsageClientAuth, a.identity.clock.Now()); err != nil {
		return Peer{}, err
	}
	leaf := certs[0]
	names, err := dnsNames(leaf)
	if err != nil {
		return Peer{}, err
	}
	table := *a.table.Load()
	var found []string
	for _, name := range names {
		if _, ok := table[name]; ok {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return Peer{}, refuse(WrongName, leaf, errors.New("no boot server of the table has a name of the certificate"))
	case 1:
	default:
		return Peer{}, refuse(WrongName, leaf, fmt.Errorf("the certificate has the names of several boot servers: %s", strings.Join(found, ", ")))
	}
	entry := table[found[0]]
	if entry.Key != "" && entry.Key != KeyOf(leaf) {
		return Peer{}, refuse(WrongKey, leaf, errors.New("the name is bound to another key"))
	}
	return Peer{Name: found[0], Site: entry.Site, Issued: leaf.NotBefore, Expires: leaf.NotAfter}, nil
}

// recheck closes the connections of peers that may not speak any more.
func (a *Authorizer) recheck() {
	a.mu.Lock()
	var open []*connection
	for c := range a.open {
		open = append(open, c)
	}
	a.mu.Unlock()
	for _, c := range open {
		peer, err := a.authorize(c.certs)
		if err == nil && peer.Name == c.peer.Name && peer.Site == c.peer.Site {
			continue
		}
		if err != nil {
			a.refused(c.RemoteAddr(), err)
		} else {
			a.identity.logger.Info("boot server has another site, its connection is closed", "name", peer.Name)
		}
		_ = c.Close()
	}
}

// Seen are the boot servers of the table that have connected since the start of this process, with their newest certificates.
func (a *Authorizer) Seen() map[string]Peer { return a.metrics.all() }

// Describe implements prometheus.Collector.
func (a *Authorizer) Describe(ch chan<- *prometheus.Desc) { a.metrics.Describe(ch) }

// Collect implements prometheus.Collector.
func (a *Authorizer) Collect(ch chan<- prometheus.Metric) { a.metrics.Collect(ch) }
