package peer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc/credentials"
)

// serverCredentials are gRPC's, with a reason for each refusal, and a list of open connections.
type serverCredentials struct {
	credentials.TransportCredentials
	authorizer *Authorizer
	config     *tls.Config
}

// Credentials are for the gRPC server of a manager.
func (a *Authorizer) Credentials() credentials.TransportCredentials {
	config := a.ServerConfig()
	return &serverCredentials{TransportCredentials: credentials.NewTLS(config), authorizer: a, config: config}
}

// Clone implements credentials.TransportCredentials.
func (c *serverCredentials) Clone() credentials.TransportCredentials {
	return c.authorizer.Credentials()
}

// ServerHandshake implements credentials.TransportCredentials. gRPC has set a deadline for it.
func (c *serverCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	var hello, offersTLS13 bool
	config := c.config.Clone()
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		hello, offersTLS13 = true, slices.Contains(h.SupportedVersions, tls.VersionTLS13)
		return nil, nil
	}
	secure, info, err := credentials.NewTLS(config).ServerHandshake(raw)
	if err != nil {
		r := refusalOf(err, hello, offersTLS13)
		c.authorizer.refused(raw.RemoteAddr(), r)
		return nil, nil, r
	}
	found, err := c.authorizer.opened(secure, info)
	if err != nil {
		c.authorizer.refused(raw.RemoteAddr(), err)
		return nil, nil, errors.Join(err, secure.Close())
	}
	return found, info, nil
}

// connection is one that is open, with whom it was opened for.
type connection struct {
	net.Conn
	peer   Peer
	certs  []*x509.Certificate
	closed func()
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.closed()
	return c.Conn.Close()
}

// opened puts a connection on the list. It asks once more who the peer is: the table may have changed during the handshake.
func (a *Authorizer) opened(conn net.Conn, info credentials.AuthInfo) (*connection, error) {
	tlsInfo, ok := info.(credentials.TLSInfo)
	if !ok {
		return nil, &Refusal{Reason: HandshakeFailed, Err: errors.New("the connection is not TLS")}
	}
	c := &connection{Conn: conn, certs: tlsInfo.State.PeerCertificates}
	c.closed = sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.open, c)
	})
	// Under the lock, a change of the table comes before and decides, or comes after and finds the connection.
	a.mu.Lock()
	defer a.mu.Unlock()
	peer, err := a.authorize(c.certs)
	if err != nil {
		return nil, err
	}
	c.peer = peer
	a.open[c] = struct{}{}
	a.metrics.seen(peer)
	return c, nil
}

// refused writes down a peer that may not speak.
func (a *Authorizer) refused(address net.Addr, err error) {
	r, ok := errors.AsType[*Refusal](err)
	if !ok {
		r = &Refusal{Reason: HandshakeFailed, Err: err}
	}
	a.metrics.refusals.WithLabelValues(string(r.Reason)).Inc()
	a.refusals[r.Reason].Logger().Info("connection to the boot stream refused", "address", address.String(), "reason", string(r.Reason), "error", r)
}
