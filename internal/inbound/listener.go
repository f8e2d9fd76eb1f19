package inbound

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// How long an Accept that failed is not tried again.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
)

// Listener puts the connections of l to the budget. Several listeners may share one.
func (b *Budget) Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, budget: b, closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	budget *Budget
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener. It fails only when the listener is closed: errors of accept(2) are about the process's
// descriptors, the kernel's memory or the connection that was to be accepted, and pass.
func (l *listener) Accept() (net.Conn, error) {
	pause := firstPause
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || !l.rest(pause) {
				return nil, net.ErrClosed
			}
			l.budget.counts[failed].Add(1)
			l.budget.notice.tellError(l.budget.name, err)
			pause = min(2*pause, longestPause)
			continue
		}
		pause = firstPause
		if wrapped := l.wrap(conn); wrapped != nil {
			return wrapped, nil
		}
		_ = conn.Close()
	}
}

// rest waits, and reports whether the listener is still open.
func (l *listener) rest(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.closed:
		return false
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// wrap returns nil for a connection that is one too many.
func (l *listener) wrap(conn net.Conn) net.Conn {
	h := l.budget.admit(addressOf(conn), func() { _ = conn.Close() })
	if h == nil {
		return nil
	}
	c := counted{budget: l.budget, held: h}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// It keeps the methods by which the kernel sends files (io.ReaderFrom) and half closes.
		return &tcpConn{TCPConn: tcp, counted: c}
	}
	return &plainConn{Conn: conn, counted: c}
}

// addressOf is the zero value for what has none, such as a pipe: all of those are one.
func addressOf(conn net.Conn) netip.Addr {
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}
	return netip.Addr{}
}

// counted is what a connection knows of its budget.
type counted struct {
	budget *Budget
	held   *held
}

func (c counted) of() counted { return c }

type tcpConn struct {
	*net.TCPConn
	counted
}

// Close implements net.Conn.
func (c *tcpConn) Close() error {
	c.budget.gone(c.held)
	return c.TCPConn.Close()
}

type plainConn struct {
	net.Conn
	counted
}

// Close implements net.Conn.
func (c *plainConn) Close() error {
	c.budget.gone(c.held)
	return c.Conn.Close()
}
