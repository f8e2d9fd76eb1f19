package inbound

import (
	"context"
	"net"
	"net/http"
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
