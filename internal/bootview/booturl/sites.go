package booturl

import (
	"maps"
	"net"
	"net/netip"
	"strings"
)

// Bases are the base URLs of one site, without a slash at the end. At most one of them is empty, but for a site
// that there is not.
type Bases struct{ v4, v6 string }

// Object is the base of URLs in objects. Firmware and DHCP servers that read those speak IPv4 more often than not.
func (b Bases) Object() string {
	if b.v4 != "" {
		return b.v4
	}
	return b.v6
}

// For is the base for a caller: over IPv6 that of IPv6, where there is one. An IPv4 address that is written as an IPv6
// one (RFC 4291 §2.5.5.2) is IPv4.
func (b Bases) For(caller netip.Addr) string {
	if b.v6 != "" && caller.Is6() && !caller.Is4In6() {
		return b.v6
	}
	return b.Object()
}

// All are both bases, or the one there is.
func (b Bases) All() []string {
	var all []string
	for _, base := range []string{b.v4, b.v6} {
		if base != "" {
			all = append(all, base)
		}
	}
	return all
}

// EverySite stands for all sites where the name of one is wanted. It is the name of none: no Kubernetes label has the value.
const EverySite = "*"

// Sites are the URLs of all sites. The zero value has none. It does not change.
type Sites struct {
	by    map[string]site
	hosts map[string]string // the site of each host[:port] that stands for one alone
}

// site keeps its name, so that what is kept of a label by the hundred thousand is one string.
type site struct {
	name  string
	bases Bases
}

// Single are sites of which there is but the default one, with this URL alone.
func Single(base string) Sites {
	return Sites{}.WithDefault(base)
}

// WithDefault gives the default site this URL, if it has none.
func (s Sites) WithDefault(base string) Sites {
	if _, has := s.by[""]; has || base == "" {
		return s
	}
	next := map[string]site{"": {bases: Bases{}.with(base)}}
	for name, site := range s.by {
		next[name] = site
	}
	return Sites{by: next, hosts: hostsOf(next)}
}

// AlsoAt lets the host of each site that has one alone be asked at another port too: that of a second listener beside the one that
// the URLs name. A port that a URL names stays that URL's.
func (s Sites) AlsoAt(port string) Sites {
	sitesOf := map[string]map[string]bool{}
	for name, site := range s.by {
		for _, base := range site.bases.All() {
			u, err := parse(base)
			if err != nil {
				continue
			}
			host := strings.ToLower(net.JoinHostPort(u.Hostname(), port))
			if sitesOf[host] == nil {
				sitesOf[host] = map[string]bool{}
			}
			sitesOf[host][name] = true
		}
	}
	hosts := map[string]string{}
	maps.Copy(hosts, s.hosts)
	for host, names := range sitesOf {
		if _, named := hosts[host]; named || len(names) > 1 {
			continue
		}
		for name := range names {
			hosts[host] = name
		}
	}
	return Sites{by: s.by, hosts: hosts}
}

// with puts a base in the place of its family; it has been checked, or is taken as a name.
func (b Bases) with(base string) Bases {
	if u, err := parse(base); err == nil && isIPv6(u) {
		b.v6 = base
	} else {
		b.v4 = base
	}
	return b
}

// IsZero reports whether there is no URL at all.
func (s Sites) IsZero() bool { return len(s.by) == 0 }

// Name is the site that a label names. One that is not configured is none: the machine is of the default site.
func (s Sites) Name(label string) (name string, known bool) {
	site, known := s.by[label]
	return site.name, known || label == ""
}

// Of are the URLs of a site; of the default one where there is no such site.
func (s Sites) Of(name string) Bases {
	site, known := s.by[name]
	if !known {
		site = s.by[""]
	}
	return site.bases
}

// OfHost are the URLs of the site that a caller has found by itself, who names the host that it asks (RFC 9110 §7.2).
// A host that is of no site, or of several, tells nothing: they are those of the default site.
func (s Sites) OfHost(host string) Bases { return s.Of(s.hosts[host]) }

// Bases are all URLs there are.
func (s Sites) Bases() []string {
	var all []string
	for _, site := range s.by {
		all = append(all, site.bases.All()...)
	}
	return all
}

// hostsOf finds the hosts that one site has alone. Clients leave the port of a scheme out.
func hostsOf(by map[string]site) map[string]string {
	const several = "\x00"
	hosts := map[string]string{}
	for name, site := range by {
		for _, base := range site.bases.All() {
			u, err := parse(base)
			if err != nil {
				continue
			}
			host := strings.ToLower(u.Host)
			spellings := []string{host}
			if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; u.Port() == "" {
				spellings = append(spellings, host+port)
			} else if bare, isDefault := strings.CutSuffix(host, port); isDefault {
				spellings = append(spellings, bare)
			}
			for _, spelling := range spellings {
				if other, taken := hosts[spelling]; taken && other != name {
					hosts[spelling] = several
				} else {
					hosts[spelling] = name
				}
			}
		}
	}
	for host, name := range hosts {
		if name == several {
			delete(hosts, host)
		}
	}
	return hosts
}
