package bmc

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// connection is the one connection to a BMC. It dials when a request needs it. Its user sends one request at a time, and reads
// each answer to its end before the next request.
//
// A pool of connections is the wrong tool for that: http.Transport's own lets a dial go on after its request has given up, and
// counts a connection as closed shortly before it closes it, so that a BMC sees two.
type connection struct {
	transport       *http.Transport
	scheme, address string
	idle            time.Duration

	mu    sync.Mutex
	conn  *http.ClientConn // nil: none
	busy  bool             // between roundTrip and done
	timer *time.Timer      // closes an unused connection
}

func newConnection(e Endpoint, o Options) *connection {
	return &connection{transport: o.Transport, scheme: e.Scheme, address: net.JoinHostPort(e.Host, strconv.Itoa(e.Port)), idle: o.IdleTimeout}
}

// roundTrip sends a request. The caller reads the answer and calls done, also after an error.
//
// A BMC may close an unused connection at any time, also while a request is on its way. RFC 9112 §9.3.1 allows a client to repeat an
// idempotent request then; roundTrip repeats a GET once, on a new connection.
func (c *connection) roundTrip(request *http.Request) (*http.Response, error) {
	conn, used, err := c.take(request.Context())
	if err != nil {
		return nil, err
	}
	response, err := conn.RoundTrip(request)
	if err == nil || !used || request.Method != http.MethodGet || request.Context().Err() != nil {
		return response, err
	}
	c.close()
	if conn, _, err = c.take(request.Context()); err != nil {
		return nil, err
	}
	return conn.RoundTrip(request)
}

// take returns the connection, and whether it has been used before. It dials if there is none, or if the BMC has closed it.
func (c *connection) take(ctx context.Context) (conn *http.ClientConn, used bool, err error) {
	c.mu.Lock()
	c.busy = true
	conn = c.conn
	c.mu.Unlock()
	if conn != nil && conn.Err() == nil {
		return conn, true, nil
	}
	c.close()
	var refused atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) { refused.Store(err != nil) }})
	if conn, err = c.transport.NewClientConn(traced, c.scheme, c.address); err != nil {
		if refused.Load() {
			err = inHandshake(err)
		}
		return nil, false, err
	}
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	return conn, false, nil
}

// done ends the use of the connection by a request. keep says that the connection can be used again.
func (c *connection) done(keep bool) {
	c.mu.Lock()
	c.busy = false
	switch {
	case c.conn == nil:
	case c.timer == nil:
		c.timer = time.AfterFunc(c.idle, c.closeIdle)
	default:
		c.timer.Reset(c.idle)
	}
	c.mu.Unlock()
	if !keep {
		c.close()
	}
}

// closeIdle closes the connection unless a request uses it.
func (c *connection) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy {
		c.closeLocked()
	}
}

// close closes the connection, if there is one. The next request makes another.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked()
}

func (c *connection) closeLocked() {
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// Disconnect closes the connection and keeps the session, for a BMC that gets no request soon. An open connection costs two
// goroutines and their buffers, at both ends, and a BMC has few; the next request makes a new one, with TLS resumed.
func (c *Client) Disconnect(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.release()
	c.connection.close()
	return nil
}
