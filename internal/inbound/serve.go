package inbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

type contextKey struct{}

// ConnContext is for http.Server.ConnContext: it lets Handler find the connection of a request, also under TLS.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	for {
		if c, ok := conn.(interface{ of() counted }); ok {
			return context.WithValue(ctx, contextKey{}, c.of())
		}
		under, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return ctx
		}
		conn = under.NetConn()
	}
}

// Handler says of the connection of a request that it does not wait while next answers. Without a budget it does nothing.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(contextKey{}).(counted); ok {
			c.budget.begin(c.held)
			defer c.budget.end(c.held)
		}
		next.ServeHTTP(w, r)
	})
}

// Prepare has a server say what Handler and ConnContext say.
func Prepare(s *http.Server) *http.Server {
	s.Handler, s.ConnContext = Handler(s.Handler), ConnContext
	return s
}

// Serve has a server answer on l, which it closes, until ctx ends. Answers that are under way then have the grace to end by themselves. The error
// names the server; it is nil when ctx ended it.
func Serve(ctx context.Context, name string, s *http.Server, l net.Listener, grace time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("%s on %s: %w", name, l.Addr(), err)
	case <-ctx.Done():
	}
	// ctx has ended, and with it the time of everything but this.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.Shutdown(stop); err != nil {
		_ = s.Close() // downloads and profiles that would have gone on for minutes
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s on %s: %w", name, l.Addr(), err)
	}
	return nil
}
