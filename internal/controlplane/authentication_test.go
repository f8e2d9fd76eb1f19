package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

func TestCertificatesOfAdministratorsLiveForADay(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		group    string
		validity time.Duration
		known    bool
		want     bool
	}{
		"of a day":                    {group: "farrier:admins", validity: day, known: true, want: true},
		"of an emergency":             {group: "system:masters", validity: time.Hour, known: true, want: true},
		"of five years":               {group: "system:masters", validity: 5 * year, known: true},
		"of a second too much":        {group: "farrier:admins", validity: day + time.Second, known: true},
		"of a tenant, for years":      {group: "tenant", validity: 5 * year, known: true, want: true},
		"of another authority's ones": {group: "system:masters", validity: 5 * year},
	} {
		t.Run(name, func(t *testing.T) {
			request := &http.Request{TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{
				Subject: pkix.Name{CommonName: "somebody", Organization: []string{"others", c.group}}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(c.validity),
			}}}}
			admins := briefAdmins{authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
				return &authenticator.Response{User: &user.DefaultInfo{Name: "somebody"}}, c.known, nil
			})}
			response, ok, err := admins.AuthenticateRequest(request)
			if ok != c.want || (err != nil) != (c.known && !c.want) || ok && response.User.GetName() != "somebody" {
				t.Errorf("known: %t, error %v", ok, err)
			}
		})
	}
	if _, ok, err := (briefAdmins{authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{}, true, nil
	})}).AuthenticateRequest(&http.Request{}); !ok || err != nil {
		t.Errorf("by a token alone: %t, %v", ok, err)
	}
}
