package image

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"
)

const maxRedirects = 5

// newHTTPClient returns the client for registries and for the stores they
// redirect to. A registry decides where a redirect leads, so it must not lead to
// this host or to its link-local neighbours (metadata services answer there).
// The check is made on the address that is dialled, where no name can hide it.
func newHTTPClient(known map[string]bool, o Options) *http.Client {
	guard := newDialGuard(known)
	dialer := net.Dialer{Timeout: o.Timeout, KeepAlive: 30 * time.Second}
	transport := &http.Transport{
		Proxy: guard.proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			d := dialer
			if !guard.trusts(address) {
				d.Control = refuseLocal
			}
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
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
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

// dialGuard knows the addresses that may be local: those of the allowed
// registries and their mirrors, and of the proxy that the environment names.
type dialGuard struct {
	registries map[string]bool
	proxies    sync.Map // host:port → struct{}
}

func newDialGuard(known map[string]bool) *dialGuard {
	g := &dialGuard{registries: make(map[string]bool)}
	for registry := range known {
		host := Reference{Registry: registry}.host()
		if _, _, err := net.SplitHostPort(host); err == nil {
			g.registries[host] = true
			continue
		}
		bare := (&url.URL{Host: host}).Hostname()
		g.registries[net.JoinHostPort(bare, "443")] = true
		g.registries[net.JoinHostPort(bare, "80")] = true
	}
	return g
}

func (g *dialGuard) trusts(address string) bool {
	_, proxy := g.proxies.Load(address)
	return proxy || g.registries[address]
}

func (g *dialGuard) proxy(req *http.Request) (*url.URL, error) {
	proxy, err := http.ProxyFromEnvironment(req)
	if proxy != nil {
		port := proxy.Port()
		if port == "" {
			port = map[string]string{"https": "443", "socks5": "1080"}[proxy.Scheme]
		}
		if port == "" {
			port = "80"
		}
		g.proxies.Store(net.JoinHostPort(proxy.Hostname(), port), struct{}{})
	}
	return proxy, err
}

// refuseLocal is a net.Dialer's Control: it sees the address that a name
// resolved to.
func refuseLocal(_, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial %s: %w", address, err)
	}
	ip := addr.Addr().Unmap()
	if ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return fmt.Errorf("redirected to %s, a loopback or link-local address", ip)
	}
	return nil
}
