package bootserver

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

func TestHTTPBoot(t *testing.T) {
	as := func(values ...string) http.Header { return http.Header{"X-Forwarded-For": values} }
	jsonType := map[string]string{"Content-Type": "application/json"}
	const (
		machineA = `"UKIURL":"http://10.0.0.1:8082/httpboot/r/i/sha256-aa.efi","SystemUUID":"` + uuidA + `"}`
		unknown  = `"UKIURL":"http://default/uki.efi"}`
	)
	s := newSite(t, nil)
	s.run(t, []exchange{
		{name: "own address", path: "/httpboot", from: addrA, status: 200, headers: jsonType, want: `{"ClientIPs":"10.0.0.10",` + machineA},
		{name: "IPv4 in IPv6", path: "/httpboot", from: "::ffff:10.0.0.10", status: 200, want: `{"ClientIPs":"::ffff:10.0.0.10",` + machineA},
		{name: "unknown", path: "/httpboot", status: 200, headers: jsonType, want: `{"ClientIPs":"10.0.0.99",` + unknown},
		{name: "known over iPXE only", path: "/httpboot", from: addrB, status: 200, want: `{"ClientIPs":"10.0.0.11",` + unknown},
		{name: "known without URL", path: "/httpboot", from: addrE, status: 200, want: `{"ClientIPs":"10.0.0.14","UKIURL":"","SystemUUID":"` + uuidE + `"}`},
		{name: "conflict", path: "/httpboot", from: "10.0.0.12", status: 409, want: textConflict},
		{name: "forged", path: "/httpboot", header: as(addrA), status: 200, want: `{"ClientIPs":"10.0.0.99",` + unknown},
		{name: "forged by a machine", path: "/httpboot", from: addrE, header: as(addrA), status: 200,
			want: `{"ClientIPs":"10.0.0.14","UKIURL":"","SystemUUID":"` + uuidE + `"}`},
		{name: "forwarder", path: "/httpboot", from: dhcpServer, header: as(addrA), status: 200, want: `{"ClientIPs":"192.168.7.1,10.0.0.10",` + machineA},
		{name: "forwarder, MAC", path: "/httpboot", from: dhcpServer, header: as("02-FA-44-00-00-0A"), status: 200, want: `{"ClientIPs":"192.168.7.1,02-FA-44-00-00-0A",` + machineA},
		{name: "forwarder, list", path: "/httpboot", from: dhcpServer, header: as("fe80::1%eth0, ,x, 02:fa:44:00:00:0a,10.0.0.14"), status: 200,
			want: `{"ClientIPs":"192.168.7.1,fe80::1%eth0,x,02:fa:44:00:00:0a,10.0.0.14",` + machineA},
		{name: "forwarder, two headers", path: "/httpboot", from: dhcpServer, header: as("x", addrA), status: 200, want: `{"ClientIPs":"192.168.7.1,x,10.0.0.10",` + machineA},
		{name: "forwarder, conflict passed over", path: "/httpboot", from: dhcpServer, header: as("10.0.0.12," + addrA), status: 200,
			want: `{"ClientIPs":"192.168.7.1,10.0.0.12,10.0.0.10",` + machineA},
		{name: "forwarder, conflict alone", path: "/httpboot", from: dhcpServer, header: as("10.0.0.12,10.0.0.98"), status: 409, want: textConflict},
		{name: "forwarder, for itself", path: "/httpboot", from: dhcpServer, status: 200, want: `{"ClientIPs":"192.168.7.1",` + unknown},
		{name: "forwarder, quotes", path: "/httpboot", from: dhcpServer, header: as(`"</x>\é`), status: 200,
			want: `{"ClientIPs":"192.168.7.1,\"\u003c/x\u003e\\é",` + unknown},
	})
	if got := s.takeDelivered(); len(got) != 0 {
		t.Errorf("asking is not fetching, but %d deliveries were reported", len(got))
	}
}

// TestForwarderAddressIsNoMachine: a DHCP server that is itself a machine of the site
// does not get its own image for others.
func TestForwarderAddressIsNoMachine(t *testing.T) {
	s := newSite(t, func(c *Config) { c.TrustedForwarders = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")} })
	s.run(t, []exchange{{name: "known address", path: "/httpboot", from: addrA, status: 200, want: `{"ClientIPs":"10.0.0.10","UKIURL":"http://default/uki.efi"}`}})
}

func TestHTTPBootWithoutDefault(t *testing.T) {
	for name, uki := range map[string]func() string{"none": nil, "not resolved yet": func() string { return "" }} {
		t.Run(name, func(t *testing.T) {
			newSite(t, func(c *Config) { c.DefaultUKI = uki }).run(t, []exchange{
				{name: "unknown", path: "/httpboot", status: 500, want: "HTTP boot is not configured (missing default UKI)\n"},
				{name: "known", path: "/httpboot", from: addrE, status: 200, want: `{"ClientIPs":"10.0.0.14","UKIURL":"","SystemUUID":"` + uuidE + `"}`},
			})
		})
	}
}

func TestWholeNetworksOfForwardersAreWarnedAbout(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	newSite(t, func(c *Config) {
		c.Logger = log
		c.TrustedForwarders = nil
		for _, p := range []string{"127.0.0.0/8", "::1/128", "10.1.1.1/32", "172.16.0.0/12"} {
			c.TrustedForwarders = append(c.TrustedForwarders, netip.MustParsePrefix(p))
		}
	})
	if len(lines) != 1 || !strings.Contains(lines[0], "172.16.0.0/12") {
		t.Errorf("warnings: %q", lines)
	}
}

func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{"", `"`, `\`, "\x7f", "é", "\xff", "a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(appendJSON(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		// What is not UTF-8 cannot be in JSON, and is replaced byte by byte.
		if want := string([]rune(s)); got != want {
			t.Errorf("%q came back as %q, want %q", s, got, want)
		}
	})
}
