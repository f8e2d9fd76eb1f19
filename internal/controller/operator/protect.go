package operator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
)

// Identity is what both ends of a connection are known by.
type Identity struct {
	Certificate tls.Certificate
	// ClientCAs are the authorities whose client certificates are taken; nil: none are, and callers need a token.
	ClientCAs *x509.CertPool
	// Names are those under which the server is reached (package hostcheck).
	Names []string
}

// TLS is how a server with that identity speaks.
func (i Identity) TLS() *tls.Config {
	config := &tls.Config{Certificates: []tls.Certificate{i.Certificate}, MinVersion: tls.VersionTLS12}
	if i.ClientCAs != nil { // nil would mean the system's
		config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, i.ClientCAs
	}
	return config
}

// maxReviews is how many callers are asked about at a time. Anybody can make up tokens, and each costs the Kubernetes API a review.
const maxReviews = 16

// An address may present that many tokens that nobody knows, burst of them at once, before it is told to wait. Client certificates, which cost
// nothing to verify, go on being taken from it.
const (
	unknownPerSecond = 2
	unknownBurst     = 50
)

// reviews counts those under way, and what came of them.
type reviews struct {
	atomic.Int32
	once    sync.Once
	unknown *ratelimit.Limiter
}

var (
	errBusy    = errors.New("too many callers are being identified")
	errTooMany = errors.New("too many unknown tokens")
)

// Protect has next answer those whom the Kubernetes API knows and allows the verb and the path of their request, and nobody else.
// Of s it needs API, Clock and Logger.
func (s *Server) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if verbs[r.Method] == "" {
			w.Header().Set("Allow", "GET, HEAD, DELETE")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		user, err := s.review(r)
		switch {
		case errors.Is(err, errUnknown):
			w.Header().Set("WWW-Authenticate", "Bearer") // RFC 6750 §3
			http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
		case errors.Is(err, errTooMany):
			w.Header().Set("Retry-After", "5")
			http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
		case errors.Is(err, errForbidden):
			http.Error(w, http.StatusText(http.StatusForbidden), http.StatusForbidden)
		case err != nil:
			if !errors.Is(err, errBusy) {
				s.Logger.Info("operator not authenticated", "error", err)
			}
			w.Header().Set("Retry-After", "5")
			http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
		}
	})
}

// review is authorize, for few at a time, and not for those who have tried too many tokens.
func (s *Server) review(r *http.Request) (user authenticationv1.UserInfo, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	s.reviews.once.Do(func() { s.reviews.unknown = ratelimit.New(unknownPerSecond, unknownBurst, s.Clock) })
	address := callerOf(r)
	if _, certified := s.certified(r); !certified && !s.reviews.unknown.Left(address) {
		return user, errTooMany
	}
	defer s.reviews.Add(-1)
	if s.reviews.Add(1) > maxReviews {
		return user, errBusy
	}
	user, err = s.authorize(ctx, r)
	if errors.Is(err, errUnknown) {
		s.reviews.unknown.Allow(address)
	}
	return user, err
}

// callerOf is the zero value where a request has no address.
func callerOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}
