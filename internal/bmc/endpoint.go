package bmc

import (
	"net"
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
func (e Endpoint) Key() string {
	host := strings.ToLower(strings.Trim(e.Host, "[] "))
	return e.scheme() + "://" + net.JoinHostPort(host, strconv.Itoa(e.port()))
}

// BaseURL is what paths of the BMC's resources are appended to.
func (e Endpoint) BaseURL() string { return e.Key() }

// Secure says whether credentials travel encrypted to this endpoint.
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
