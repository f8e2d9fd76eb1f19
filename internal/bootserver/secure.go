package bootserver

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

const textNeedsTLS = "Forbidden over plain HTTP: ask over https\n"

// ServeTLS is Serve over TLS. The configuration has the certificate.
func (s *Server) ServeTLS(ctx context.Context, l net.Listener, config *tls.Config) error {
	return s.serve(ctx, tls.NewListener(l, config), s)
}

// exposed reports whether a request would let whoever stands between the machine and us read a secret, or write a report, where
// that is to be refused. It has come over plain HTTP then, or through a proxy that speaks it to us.
//
// What a machine fetches before it has a secret is not: programs, the chainload script that is the same for everyone, images. That
// is not to say that nobody has changed those on their way.
func (s *Server) exposed(r *http.Request, route *route) bool {
	switch {
	case !s.cfg.SecretsNeedTLS, r.TLS != nil:
		return false
	case route == nil:
		return false // there is nothing
	case !route.open:
		return true
	}
	// The chainload script's route leads on to the scripts of machines that name themselves.
	return r.URL.RawQuery != "" && (r.URL.Path == "/ipxe" || r.URL.Path == "/ipxe/")
}

func needsTLS(w http.ResponseWriter, r *http.Request) {
	w.Header()["Cache-Control"] = noStore
	w.Header()["Connection"] = closeAfter // a body is not waited for
	refuse(w, r, http.StatusForbidden, textNeedsTLS)
}
