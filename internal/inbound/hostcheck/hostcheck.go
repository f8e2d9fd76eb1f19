package hostcheck

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

// refusal says what to do: it is read by somebody who has put a proxy before the server, not by the page.
const refusal = "Misdirected Request: ask for an IP address, for localhost, or for a name that this server was told to be its own\n"

// Handler answers requests that came to a loopback address under a strange name with 421 (RFC 9110 §15.5.20), and passes the others
// on. This host's own name, which many resolve to 127.0.1.1, is not strange.
func Handler(next http.Handler, names ...string) http.Handler {
	if own, err := os.Hostname(); err == nil {
		names = append(slices.Clip(names), own)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if atLoopback(r) && !Allowed(r.Host, names) {
			http.Error(w, refusal, http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// atLoopback reports whether the connection was made to a loopback address, whatever the listener listens on.
func atLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.IP.IsLoopback()
}

// Allowed reports whether a Host header means a server on this host: an IP address, localhost or one of its own names. A client of
// HTTP/1.0 sends none, which no browser does.
func Allowed(host string, names []string) bool {
	if host == "" {
		return true
	}
	name := strings.TrimSuffix(withoutPort(host), ".")
	for _, own := range names {
		if own != "" && strings.EqualFold(name, own) {
			return true
		}
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// withoutPort is the host of "host", "host:port" or "[host]:port".
func withoutPort(host string) string {
	if rest, ok := strings.CutPrefix(host, "["); ok {
		inner, _, _ := strings.Cut(rest, "]")
		return inner
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		return host[:i]
	}
	return host
}

// Names are the hosts of URLs, for Handler.
func Names(urls ...string) []string {
	var names []string
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
			names = append(names, u.Hostname())
		}
	}
	return names
}
