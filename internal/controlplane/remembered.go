package controlplane

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

const (
	// rememberFor is how long it is known who a certificate is. The authority cannot change while the server runs, and
	// what is revoked are the rights of users and groups, which are looked up for each request; so a certificate's own end is
	// what counts, and this bounds what an error here could do.
	rememberFor = time.Minute
	// rememberedCertificates is how many are known at a time; here are two or three.
	rememberedCertificates = 64
)

// remembered knows for a while whose a client certificate is. Otherwise its signature is verified for every
// request, also of one connection, which is a twentieth of what a request costs.
type remembered struct {
	authenticator.Request
	clock clock.PassiveClock
	known *bounded.Cache[[sha256.Size]byte, identity] // by the SHA-256 of the certificate
}

type identity struct {
	response    authenticator.Response
	begin, ends time.Time
}

func newRemembered(next authenticator.Request, now clock.PassiveClock) *remembered {
	return &remembered{Request: next, clock: now, known: bounded.NewCache[[sha256.Size]byte, identity](rememberedCertificates)}
}

func (r *remembered) AuthenticateRequest(request *http.Request) (*authenticator.Response, bool, error) {
	if !byCertificateAlone(request) {
		return r.Request.AuthenticateRequest(request)
	}
	certificate := request.TLS.PeerCertificates[0]
	key, now := sha256.Sum256(certificate.Raw), r.clock.Now()
	if known, ok := r.known.Get(key); ok && !now.Before(known.begin) && now.Before(known.ends) {
		response := known.response
		return &response, true, nil
	}
	response, ok, err := r.Request.AuthenticateRequest(request)
	if response != nil && ok && err == nil {
		ends := now.Add(rememberFor)
		if certificate.NotAfter.Before(ends) {
			ends = certificate.NotAfter
		}
		r.known.Add(key, identity{response: *response, begin: now, ends: ends})
	}
	return response, ok, err
}

// byCertificateAlone says that nothing but one certificate tells who asks: no token, no word of a proxy in front, no
// intermediate authority.
func byCertificateAlone(request *http.Request) bool {
	if request.TLS == nil || len(request.TLS.PeerCertificates) != 1 || request.Header.Get("Authorization") != "" {
		return false
	}
	for name := range request.Header {
		if strings.HasPrefix(name, "X-Remote-") || name == "Sec-Websocket-Protocol" { // a bearer token may stand in either
			return false
		}
	}
	return true
}
