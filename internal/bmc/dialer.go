package bmc

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// dialer ties connecting to the request that needs the connection. http.Transport
// lets a dial go on when its request has given up; with one connection per BMC
// the next request would wait for that dial.
type dialer struct {
	net   net.Dialer
	tls   *tls.Config
	gates turnstile
}

// requestContext is the key under which a request's context holds itself:
// http.Transport detaches a dial from the cancellation of the request, not from
// its values.
type requestContext struct{}

func withRequestContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestContext{}, ctx)
}

func attached(detached context.Context) context.Context {
	if ctx, ok := detached.Value(requestContext{}).(context.Context); ok {
		return ctx
	}
	return detached
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx = attached(ctx)
	gone, leave, err := d.gates.enter(ctx, address)
	if err != nil {
		return nil, err
	}
	raw, err := d.net.DialContext(ctx, network, address)
	if err != nil {
		leave()
		return nil, err
	}
	conn := &counted{Conn: raw, gone: gone, leave: leave}
	connected(ctx, conn)
	return conn, nil
}

func (d *dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	ctx = attached(ctx)
	raw, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := d.tls.Clone()
	if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
		config.ServerName = address
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}

// turnstile lets one connection to an address in at a time. MaxConnsPerHost does
// so nearly: http.Transport counts a connection as gone just before it closes it, and
// a request in that instant gets a second one.
type turnstile struct {
	mu   sync.Mutex
	open map[string]chan struct{} // by address; closed when the connection is
}

// enter waits until there is no connection to address. leave is called when the
// new one has been closed, or was not made; gone is closed then.
func (t *turnstile) enter(ctx context.Context, address string) (gone chan struct{}, leave func(), err error) {
	gone = make(chan struct{})
	for {
		before := t.claim(address, gone)
		if before == nil {
			return gone, sync.OnceFunc(func() { t.leave(address, gone) }), nil
		}
		select {
		case <-before:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// claim makes the address ours, or tells whose end has to be waited for.
func (t *turnstile) claim(address string, gone chan struct{}) (before chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]chan struct{}{}
	}
	if before, taken := t.open[address]; taken {
		return before
	}
	t.open[address] = gone
	return nil
}

func (t *turnstile) leave(address string, gone chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, address)
	close(gone)
}

// counted is a connection that makes room when it has been closed.
type counted struct {
	net.Conn
	gone  <-chan struct{} // closed when it has been
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
