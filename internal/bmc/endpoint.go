package bmc

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Endpoint is where a BMC is reached.
type Endpoint struct {
	Scheme string // "https" where empty
	Host   string // host name or IP address, without brackets
	Port   int    // the scheme's own where zero
}

// Key identifies the BMC: two endpoints with one key are one BMC.
// It has the form "http://127.0.0.5:8000", in lower case, port always given.
func (e Endpoint) Key() string { return e.at(e.host()) }

// BaseURL is what paths of the BMC's resources are appended to. A zone of an IPv6 address
// is escaped in a URL (RFC 6874 §2).
func (e Endpoint) BaseURL() string { return e.at(strings.ReplaceAll(e.host(), "%", "%25")) }

func (e Endpoint) at(host string) string {
	return e.scheme() + "://" + net.JoinHostPort(host, strconv.Itoa(e.port()))
}

// host is the host in one spelling: an IPv6 address has many (RFC 5952).
func (e Endpoint) host() string {
	host := strings.ToLower(strings.Trim(e.Host, "[] "))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return host
}

// Secure reports whether credentials travel encrypted to this endpoint.
func (e Endpoint) Secure() bool { return e.scheme() == "https" }

func (e Endpoint) String() string { return e.Key() }

func (e Endpoint) scheme() string {
	if s := strings.ToLower(strings.TrimSpace(e.Scheme)); s != "" {
		return s
	}
	return "https"
}

func (e Endpoint) port() int {
	switch {
	case e.Port != 0:
		return e.Port
	case e.scheme() == "http":
		return 80
	default:
		return 443
	}
}
