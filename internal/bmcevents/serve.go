package bmcevents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

type timeouts struct{ header, message, answer, shutdown time.Duration }

var defaultTimeouts = timeouts{header: 5 * time.Second, message: 15 * time.Second, answer: 20 * time.Second, shutdown: 3 * time.Second}

const maxHeader = 8 << 10

// Serve answers on l, which it closes, until ctx ends. The error is nil when ctx ended it.
func (r *Receiver) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           r,
		ReadHeaderTimeout: r.timeouts.header,
		ReadTimeout:       r.timeouts.message,
		WriteTimeout:      r.timeouts.answer,
		MaxHeaderBytes:    maxHeader,
		// What net/http writes is about clients that misbehave, which the metrics count.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	// A message is a connection: ten thousand BMCs that kept theirs would leave no room for each other.
	srv.SetKeepAlivesEnabled(false)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(newCapped(l, r.options.MaxConnections)) }()
	select {
	case err := <-served:
		return fmt.Errorf("receiver of BMC events on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	// ctx has ended, and with it the time of everything but this.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeouts.shutdown)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		_ = srv.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("receiver of BMC events on %s: %w", l.Addr(), err)
	}
	return nil
}

// capped is a listener that holds a number of connections at most; others wait in the kernel.
type capped struct {
	net.Listener
	room   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newCapped(l net.Listener, n int) *capped {
	return &capped{Listener: l, room: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (c *capped) Accept() (net.Conn, error) {
	select {
	case c.room <- struct{}{}:
	case <-c.closed:
		return nil, net.ErrClosed
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.room
		return nil, err
	}
	return &counted{Conn: conn, leave: sync.OnceFunc(func() { <-c.room })}, nil
}

// Close implements net.Listener.
func (c *capped) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

type counted struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
