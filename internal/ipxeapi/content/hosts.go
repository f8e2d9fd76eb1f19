package content

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
)

// Hosts are the servers that may be asked.
type Hosts struct{ entries []entry }

// entry is a host name, an address or "*.domain", with a port if only that one is meant.
type entry struct{ host, port string }

// ParseHosts reads "host", "host:port", "*.domain" and "*.domain:port".
func ParseHosts(list []string) (Hosts, error) {
	var hosts Hosts
	for _, text := range list {
		host, port := strings.ToLower(strings.TrimSpace(text)), ""
		if h, p, err := net.SplitHostPort(host); err == nil {
			host, port = h, p
		}
		host = strings.Trim(host, "[]")
		name := strings.TrimPrefix(host, "*.")
		if _, err := strconv.ParseUint(port, 10, 16); port != "" && err != nil {
			return Hosts{}, fmt.Errorf("%q: %q is not a port", text, port)
		}
		if name == "" || strings.ContainsAny(name, "*/ @?#") || strings.Contains(name, ":") && !isAddress(name) {
			return Hosts{}, fmt.Errorf("%q is not a host, host:port or *.domain", text)
		}
		hosts.entries = append(hosts.entries, entry{host, port})
	}
	return hosts, nil
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// Check returns an error for a URL that may not be requested, as far as the URL itself tells.
func (h Hosts) Check(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("no http(s) URL")
	}
	if u.User != nil {
		return fmt.Errorf("credentials do not belong into a URL; basicAuth names a Secret")
	}
	if !h.allows(u.Hostname(), portOf(u)) {
		return fmt.Errorf("host %s is not one of --webhook-hosts", u.Host)
	}
	return nil
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

func (h Hosts) allows(host, port string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, e := range h.entries {
		domain, wild := strings.CutPrefix(e.host, "*")
		if (e.host == host || wild && strings.HasSuffix(host, domain)) && (e.port == "" || e.port == port) {
			return true
		}
	}
	return false
}

// control refuses, before anything is sent, an address that a name should not resolve to
// (RFC 6890 §2.2.2, §2.2.3): what is asked then is not what the operator has named.
func (h Hosts) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	ip := at.Addr().Unmap()
	if !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsUnspecified() && !ip.IsMulticast() {
		return nil
	}
	port := fmt.Sprint(at.Port())
	if h.allows(ip.WithZone("").String(), port) || ip.IsLoopback() && h.allows("localhost", port) {
		return nil
	}
	return fmt.Errorf("address %s belongs to this host or its link and is not in --webhook-hosts", ip)
}
