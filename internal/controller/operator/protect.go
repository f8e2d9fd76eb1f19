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
	"time"

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

// Why somebody is not identified now.
var (
	// ErrBusy: many others are being identified.
	ErrBusy = errors.New("too many callers are being identified")
	// ErrTooMany: the address has presented many tokens that nobody knows.
	ErrTooMany = errors.New("too many unknown tokens")
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
		case errors.Is(err, ErrUnknown):
			w.Header().Set("WWW-Authenticate", "Bearer") // RFC 6750 §3
			http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
		case errors.Is(err, ErrTooMany):
			w.Header().Set("Retry-After", "5")
			http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
		case errors.Is(err, errForbidden):
			http.Error(w, http.StatusText(http.StatusForbidden), http.StatusForbidden)
		case err != nil:
			if !errors.Is(err, ErrBusy) {
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
	_, certified := s.certified(r)
	err = s.limited(r, certified, func(ctx context.Context) (err error) {
		user, err = s.authorize(ctx, r)
		return err
	})
	return user, err
}

// Certified is whom the client certificate of a connection names, and until when.
func (s *Server) Certified(r *http.Request) (authenticationv1.UserInfo, time.Time, bool) {
	user, ok := s.certified(r)
	if !ok {
		return user, time.Time{}, false
	}
	return user, r.TLS.VerifiedChains[0][0].NotAfter, true
}

// Bearer is the bearer token of a request; empty: it has none.
func Bearer(r *http.Request) string { return tokenOf(r) }

// TokenUser says whose a token is that came with a request. Its limits are those of Protect.
func (s *Server) TokenUser(r *http.Request, token string) (user authenticationv1.UserInfo, err error) {
	err = s.limited(r, false, func(ctx context.Context) (err error) {
		user, err = s.tokenUser(ctx, token)
		return err
	})
	return user, err
}

// limited identifies a caller within the limits of reviews.
func (s *Server) limited(r *http.Request, certified bool, identify func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	s.reviews.once.Do(func() { s.reviews.unknown = ratelimit.New(unknownPerSecond, unknownBurst, s.Clock) })
	address := callerOf(r)
	if !certified && !s.reviews.unknown.Left(address) {
		return ErrTooMany
	}
	defer s.reviews.Add(-1)
	if s.reviews.Add(1) > maxReviews {
		return ErrBusy
	}
	err := identify(ctx)
	if errors.Is(err, ErrUnknown) {
		s.reviews.unknown.Allow(address)
	}
	return err
}

// callerOf is the zero value where a request has no address.
func callerOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}
