package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestCertificatesAreVerifiedOnceAMinute(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(start)
	asked := 0
	var refusal error
	known := newRemembered(authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if asked++; refusal != nil {
			return nil, false, refusal
		}
		return &authenticator.Response{User: &user.DefaultInfo{Name: string(r.TLS.PeerCertificates[0].Raw)}}, true, nil
	}), clock)
	request := func(certificate string, change func(*http.Request)) *http.Request {
		r := &http.Request{Header: http.Header{}, TLS: &tls.ConnectionState{
			PeerCertificates: []*x509.Certificate{{Raw: []byte(certificate), NotAfter: start.Add(90 * time.Second)}},
		}}
		if change != nil {
			change(r)
		}
		return r
	}
	for _, step := range []struct {
		what    string
		at      time.Duration
		request *http.Request
		refusal error
		asked   bool
	}{
		{what: "first", request: request("a", nil), asked: true},
		{what: "again", request: request("a", nil)},
		{what: "another", request: request("b", nil), asked: true},
		{what: "with a token", request: request("a", func(r *http.Request) { r.Header.Set("Authorization", "Bearer t") }), asked: true},
		{what: "for somebody else", request: request("a", func(r *http.Request) { r.Header.Set("X-Remote-User", "c") }), asked: true},
		{what: "with a token in a WebSocket", request: request("a", func(r *http.Request) { r.Header.Set("Sec-WebSocket-Protocol", "t") }), asked: true},
		{what: "with an intermediate authority", request: request("a", func(r *http.Request) {
			r.TLS.PeerCertificates = append(r.TLS.PeerCertificates, &x509.Certificate{})
		}), asked: true},
		{what: "after a minute", at: time.Minute, request: request("a", nil), asked: true},
		{what: "before it ends", at: 89 * time.Second, request: request("a", nil)},
		{what: "when it has ended", at: 90 * time.Second, request: request("a", nil), refusal: errors.New("expired"), asked: true},
		{what: "a refusal is not remembered", at: 90 * time.Second, request: request("a", nil), refusal: errors.New("expired"), asked: true},
	} {
		before := asked
		clock.SetTime(start.Add(step.at))
		refusal = step.refusal
		response, ok, err := known.AuthenticateRequest(step.request)
		if (asked > before) != step.asked || !errors.Is(err, step.refusal) || ok == (step.refusal != nil) {
			t.Errorf("%s: asked %v, ok %v, error %v", step.what, asked > before, ok, err)
		}
		if ok && response.User.GetName() != string(step.request.TLS.PeerCertificates[0].Raw) {
			t.Errorf("%s: somebody else, %v", step.what, response.User)
		}
	}
}
