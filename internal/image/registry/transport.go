package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const maxRedirects = 5

// newHTTPClient returns the client for registries and for the stores and token
// services that they name. A registry decides where a redirect leads, so it must
// not lead to this host, its neighbours or a private network, where it could not
// go itself. The check is made on the address that is dialled, where no name can
// hide it (network.go).
func newHTTPClient(known map[string]bool, o Options) *http.Client {
	guard := newDialGuard(known, o.AllowedNetworks)
	dialer := net.Dialer{Timeout: o.Timeout, KeepAlive: 30 * time.Second}
	transport := &http.Transport{
		Proxy: guard.proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			d := dialer
			d.Control = guard.control(address)
			return d.DialContext(ctx, network, address)
		},
		TLSClientConfig:        &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    o.Timeout,
		ResponseHeaderTimeout:  o.Timeout,
		IdleConnTimeout:        time.Minute,
		MaxIdleConnsPerHost:    o.Parallel,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
	}
	return &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if err := checkRedirect(req, via); err != nil {
			return err
		}
		return guard.checkLiteral(req.URL)
	}}
}

// checkRedirect bounds redirects and keeps them from leaving TLS. Credentials
// are dropped on another origin by the authenticating client.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("redirect from https to " + req.URL.Scheme)
	}
	return nil
}
