package registry

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func testGuard(networks ...string) *dialGuard {
	var prefixes []netip.Prefix
	for _, text := range networks {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	known := map[string]bool{"localhost:5000": true, "ghcr.io": true, "docker.io": true, "[::1]:5000": true, "[::2]": true, "169.254.1.1:5000": true}
	g := newDialGuard(known, prefixes)
	g.own = func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("203.0.113.7"), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("2001:db8::7"), Mask: net.CIDRMask(64, 128)}}, nil
	}
	return g
}

// TestWhereRegistriesMayLead: who is dialled was not named, and resolved to the address.
func TestWhereRegistriesMayLead(t *testing.T) {
	g := testGuard("10.9.0.0/16", "fd00:9::/32", "127.9.9.0/24")
	for address, want := range map[string]bool{
		"127.0.0.1:80":             false,
		"127.9.9.9:443":            true, // named
		"[::1]:80":                 false,
		"[::ffff:127.0.0.1]:80":    false,
		"[::127.0.0.1]:80":         false,
		"169.254.169.254:80":       false,
		"[fe80::1%lo]:80":          false,
		"0.0.0.0:80":               false,
		"0.1.2.3:80":               false,
		"[::]:80":                  false,
		"224.0.0.1:80":             false,
		"[ff02::1]:80":             false,
		"255.255.255.255:80":       false,
		"10.0.0.1:443":             false,
		"10.9.0.1:443":             true, // named
		"[::ffff:10.9.0.1]:443":    true,
		"[::ffff:10.0.0.1]:443":    false,
		"172.16.0.1:443":           false,
		"172.32.0.1:443":           true,
		"192.168.1.1:443":          false,
		"100.64.0.1:443":           false,
		"[fd00::1]:443":            false,
		"[fd00:9::1]:443":          true,  // named
		"[64:ff9b::a00:1]:443":     false, // 10.0.0.1
		"[64:ff9b::c000:201]:443":  true,  // 192.0.2.1
		"[64:ff9b:1::c000:1]:443":  false,
		"[2002:7f00:1::1]:443":     false, // 127.0.0.1
		"203.0.113.7:443":          false, // this host's own
		"203.0.113.8:443":          true,
		"[::ffff:203.0.113.7]:443": false,
		"[2001:db8::7]:443":        false, // this host's own
		"[2001:db8::8]:443":        true,
		"192.0.2.1:443":            true,
		"[::ffff:192.0.2.1]:443":   true,
		"registry.example.com:80":  false, // never a name at this point
	} {
		if err := g.control("elsewhere.example:443")("tcp", address, nil); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", address, err, want)
		}
	}
	err := g.refuse(netip.MustParseAddr("10.0.0.1"))
	if !errors.Is(err, ErrForbiddenAddress) || !strings.Contains(err.Error(), "--allowed-registry-networks") {
		t.Errorf("%v does not say what to do", err)
	}
}

// TestANamedRegistryMayBePrivate: that it is named is permission for it, wherever its name leads but to metadata services,
// which only an address allows.
func TestANamedRegistryMayBePrivate(t *testing.T) {
	g := testGuard()
	for _, c := range []struct {
		host, resolved string
		want           bool
	}{
		{"localhost:5000", "127.0.0.1:5000", true},
		{"ghcr.io:443", "10.0.0.1:443", true},
		{"ghcr.io:443", "203.0.113.7:443", true},
		{"ghcr.io:443", "169.254.169.254:443", false},
		{"ghcr.io:443", "224.0.0.1:443", false},
		{"169.254.1.1:5000", "169.254.1.1:5000", true},
		{"169.254.1.1:80", "169.254.1.1:80", false},
		{"localhost:5001", "127.0.0.1:5001", false},
	} {
		if err := g.control(c.host)("tcp", c.resolved, nil); (err == nil) != c.want {
			t.Errorf("%s at %s: %v, want allowed %v", c.host, c.resolved, err, c.want)
		}
	}
}

func TestDialGuardTrustsExactly(t *testing.T) {
	g := testGuard()
	for address, want := range map[string]bool{
		"localhost:5000":           true,
		"localhost:5001":           false,
		"ghcr.io:443":              true,
		"ghcr.io:80":               true,
		"ghcr.io:22":               false,
		"registry-1.docker.io:443": true,
		"docker.io:443":            false,
		"[::1]:5000":               true,
		"[::1]:443":                false,
		"[::2]:443":                true,
	} {
		if got := g.names(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

// TestARedirectToAnAddressIsSeenAtOnce: behind a proxy nothing of it is dialled here.
func TestARedirectToAnAddressIsSeenAtOnce(t *testing.T) {
	g := testGuard()
	for text, want := range map[string]bool{
		"https://10.0.0.1/x": false, "https://[fd00::1]:443/x": false, "http://127.0.0.1:80/x": false, "https://192.0.2.1/x": true,
		"https://storage.example/x": true, "http://[::1]:5000/x": true, "https://[::2]/x": true, "https://169.254.169.254/x": false,
	} {
		to, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.checkLiteral(to); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", text, err, want)
		}
	}
}

func TestParseNetworks(t *testing.T) {
	got, err := ParseNetworks("--allowed-registry-networks", []string{"10.1.2.3/8", "192.168.1.1", "fd00::/8"})
	if err != nil || len(got) != 3 || got[0].String() != "10.0.0.0/8" || got[1].String() != "192.168.1.1/32" || got[2].String() != "fd00::/8" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ParseNetworks("--allowed-registry-networks", []string{"10.0.0.0/33"}); err == nil || !strings.Contains(err.Error(), "--allowed-registry-networks") {
		t.Errorf("%v", err)
	}
}
