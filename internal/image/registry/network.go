package registry

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"syscall"
)

// ErrForbiddenAddress reports a registry that leads to an address where only named registries may be.
var ErrForbiddenAddress = errors.New("address is not one that registries may lead to")

// dialGuard decides which addresses are connected to. The allowed registries, their mirrors and the proxy that the
// environment names may be anywhere; everybody else, in public networks and such as are named for it.
type dialGuard struct {
	registries map[string]bool
	networks   []netip.Prefix
	proxies    sync.Map // host:port → struct{}
	// own are the addresses of this host; a test has others.
	own func() ([]net.Addr, error)
}

func newDialGuard(known map[string]bool, networks []netip.Prefix) *dialGuard {
	g := &dialGuard{registries: make(map[string]bool), networks: networks, own: net.InterfaceAddrs}
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

// names reports whether the operator named who is at host:port.
func (g *dialGuard) names(address string) bool {
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

// control is a net.Dialer's for host:port: it sees the address that the name resolved to.
func (g *dialGuard) control(address string) func(network, address string, c syscall.RawConn) error {
	named := g.names(address)
	host, _, _ := net.SplitHostPort(address)
	_, err := netip.ParseAddr(host)
	literal := err == nil
	return func(_, dialled string, _ syscall.RawConn) error {
		addr, err := netip.ParseAddrPort(dialled)
		switch {
		case err != nil:
			return fmt.Errorf("dial %s: %w", dialled, err)
		case named && literal:
			return nil // the operator named this address
		case named:
			return g.refuseNamed(addr.Addr())
		}
		return g.refuse(addr.Addr())
	}
}

// refuseNamed is for a registry that is named by a name: who answers for that name may move it, though not to where
// metadata services answer.
func (g *dialGuard) refuseNamed(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	if g.allows(ip) || !ip.IsLinkLocalUnicast() && !ip.IsMulticast() && !ip.IsUnspecified() {
		return nil
	}
	return forbidden(ip, "it is link-local, multicast or unspecified")
}

// refuse refuses the addresses where a registry could not go itself.
func (g *dialGuard) refuse(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	if g.allows(ip) {
		return nil
	}
	if translated.Contains(ip) {
		bytes := ip.As16()
		return g.refuse(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	if i := slices.IndexFunc(special, func(s specialNetwork) bool { return s.Contains(ip) }); i >= 0 {
		return forbidden(ip, "it is "+special[i].what)
	}
	own, err := g.own()
	if err != nil {
		return forbidden(ip, "this host's own addresses are not known: "+err.Error())
	}
	for _, addr := range own {
		if prefix, err := netip.ParsePrefix(addr.String()); err == nil && prefix.Addr().Unmap() == ip {
			return forbidden(ip, "it is this host's own")
		}
	}
	return nil
}

func (g *dialGuard) allows(ip netip.Addr) bool {
	return slices.ContainsFunc(g.networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

func forbidden(ip netip.Addr, why string) error {
	return fmt.Errorf("%w: %s: %s, and not in --allowed-registry-networks", ErrForbiddenAddress, ip, why)
}

// checkLiteral refuses a redirect to an address before anybody is asked to follow it: a proxy dials for itself.
func (g *dialGuard) checkLiteral(to *url.URL) error {
	ip, err := netip.ParseAddr(to.Hostname())
	if err != nil {
		return nil // a name; what it resolves to is seen when it is dialled
	}
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	if g.names(net.JoinHostPort(to.Hostname(), port)) {
		return nil
	}
	return g.refuse(ip)
}

// specialNetwork is one where a public registry's storage is not.
type specialNetwork struct {
	netip.Prefix
	what string
}

// translated is how hosts without IPv4 reach those with nothing else, RFC 6052 §2.1: the last four bytes are who that is.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// special are the networks that the registries of special-purpose addresses (RFC 6890) call not globally reachable, and
// those whose addresses stand for one of IPv4, which a translator would unpack behind our back.
var special = []specialNetwork{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},                       // RFC 791 §3.2
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},                          // RFC 1918
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by a carrier"},           // RFC 6598
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback or link-local"},          // RFC 1122 §3.2.1.3
	{netip.MustParsePrefix("169.254.0.0/16"), "loopback or link-local"},       // RFC 3927
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},                       // RFC 1918
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},                       // RFC 6890 §2.1
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},                      // RFC 1918
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},                // RFC 2544
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},                       // RFC 5771
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved or broadcast"},           // RFC 1112 §4
	{netip.MustParsePrefix("::/96"), "unspecified, loopback or IPv4 in IPv6"}, // RFC 4291 §2.5
	{netip.MustParsePrefix("64:ff9b:1::/48"), "IPv4 behind a translator"},     // RFC 8215
	{netip.MustParsePrefix("100::/64"), "for nobody"},                         // RFC 6666
	{netip.MustParsePrefix("2001::/32"), "IPv4 in a tunnel"},                  // RFC 4380
	{netip.MustParsePrefix("2002::/16"), "IPv4 in a tunnel"},                  // RFC 3056
	{netip.MustParsePrefix("fc00::/7"), "private"},                            // RFC 4193
	{netip.MustParsePrefix("fe80::/10"), "loopback or link-local"},            // RFC 4291 §2.5.6
	{netip.MustParsePrefix("fec0::/10"), "site-local"},                        // RFC 3879
	{netip.MustParsePrefix("ff00::/8"), "multicast"},                          // RFC 4291 §2.7
}

// ParseNetworks reads CIDRs as their flag has them; a bare address is a network of its own.
func ParseNetworks(flag string, texts []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	var errs []error
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if addr, bare := netip.ParseAddr(text); bare == nil && addr.Zone() == "" {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", flag, err))
			continue
		}
		networks = append(networks, prefix.Masked())
	}
	return networks, errors.Join(errs...)
}
