package probe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"time"
)

// Trusting is a client that speaks TLS with whom these authorities, PEM, have signed, and with nobody else: what the system that
// the agent runs on trusts does not count.
func Trusting(authorities []byte) (*http.Client, error) {
	roots, err := Roots(authorities)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: DefaultClientTimeout, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}, nil
}

// Roots are the authorities of a PEM bundle.
func Roots(authorities []byte) (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authorities) {
		return nil, errors.New("holds no PEM certificate")
	}
	return roots, nil
}
