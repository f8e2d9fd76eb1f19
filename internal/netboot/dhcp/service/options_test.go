package service

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args    string
		problem string
		unknown string
	}{
		"nothing":                            {"", "", Ignore},
		"proxy":                              {"--dhcp=proxy --dhcp-interface=eth0", "", Ignore},
		"proxy for strangers":                {"--dhcp=proxy --dhcp-interface=eth0 --dhcp-unknown=boot", "", Boot},
		"server":                             {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20", "", Boot},
		"server, strangers ignored":          {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-unknown=ignore", "", Ignore},
		"TFTP alone":                         {"--tftp-address=:69", "", Ignore},
		"another mode":                       {"--dhcp=relay", "--dhcp", ""},
		"adopting":                           {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-adopt --dhcp-adopt-networks=192.0.2.0/24", "", Boot},
		"adopting in proxy mode":             {"--dhcp=proxy --dhcp-interface=eth0 --dhcp-adopt", "--dhcp-adopt needs --dhcp=server: with --dhcp=proxy", ""},
		"adopting without DHCP":              {"--dhcp-adopt", "--dhcp-adopt needs --dhcp=server: with --dhcp=off", ""},
		"networks, nothing adopted":          {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-adopt-networks=192.0.2.0/24", "--dhcp-adopt-networks needs --dhcp-adopt", ""},
		"a network of a site without a name": {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-adopt --dhcp-adopt-networks==192.0.2.0/24", "want CIDR or SITE=CIDR", ""},
		"a network that is none":             {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-adopt --dhcp-adopt-networks=management", "--dhcp-adopt-networks", ""},
		"no interface":                       {"--dhcp=proxy", "--dhcp-interface", ""},
		"an interface and no DHCP":           {"--dhcp-interface=eth0", "--dhcp=off", ""},
		"server without a range":             {"--dhcp=server --dhcp-interface=eth0", "--dhcp-range", ""},
		"proxy with a range":                 {"--dhcp=proxy --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20", "--dhcp-range", ""},
		"leases that are too short":          {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-lease-time=1s", "--dhcp-lease-time", ""},
		"another word for strangers":         {"--dhcp-unknown=maybe", "--dhcp-unknown", ""},
		"a reservation without address":      {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-reserve=52:54:00:12:34:56", "--dhcp-reserve", ""},
		"a reservation for no MAC":           {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-reserve=x=192.0.2.1", "--dhcp-reserve", ""},
		"a router that is none":              {"--dhcp-router=gate", "--dhcp-router", ""},
		"a DNS server that is none":          {"--dhcp-dns=ns1", "--dhcp-dns", ""},
		"a TFTP address that is none":        {"--tftp-address=here", "--tftp-address", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := Default()
			f := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.Bind(f)
			o.BindAdopt(f)
			if err := f.Parse(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			s, err := o.Check()
			switch {
			case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
				t.Errorf("got %v, want an error that names %s", err, c.problem)
			case c.problem == "" && (err != nil || s.o.Unknown != c.unknown):
				t.Errorf("got %q, %v", s.o.Unknown, err)
			}
		})
	}
}

// TestAdoptsWhatBootServersTell: of a boot server's clients those of the networks that are named for its site.
func TestAdoptsWhatBootServersTell(t *testing.T) {
	adopts := func(networks, site, address string, own bool) bool {
		t.Helper()
		o := Default()
		o.Adopt, o.Apart, o.AdoptNetworks = true, true, strings.Split(networks, ",")
		if networks == "" {
			o.AdoptNetworks, o.Mode, o.Interfaces, o.Ranges = nil, Leases, []string{"eth0"}, []string{"192.0.2.10-192.0.2.20"}
		}
		s, err := o.Check()
		if err != nil {
			t.Fatal(err)
		}
		return s.Adopts(dhcp.Sighting{Apart: !own, Site: site, Addr: netip.MustParseAddr(address)})
	}
	for name, c := range map[string]struct {
		networks, site, address string
		own, want               bool
	}{
		"of its site":                         {"192.0.2.0/24,north=198.51.100.0/24", "north", "198.51.100.9", false, true},
		"of another site":                     {"192.0.2.0/24,north=198.51.100.0/24", "south", "198.51.100.9", false, false},
		"of no site":                          {"192.0.2.0/24,north=198.51.100.0/24", "", "198.51.100.9", false, false},
		"our own network, by a site":          {"192.0.2.0/24,north=198.51.100.0/24", "north", "192.0.2.9", false, false},
		"ours":                                {"192.0.2.0/24,north=198.51.100.0/24", "", "192.0.2.9", true, true},
		"ours, by a boot server":              {"192.0.2.0/24", "", "192.0.2.9", false, true},
		"no network is named":                 {"", "", "192.0.2.9", false, false},
		"no network is named, for a site":     {"", "north", "192.0.2.9", false, false},
		"no network is named, and it is ours": {"", "", "192.0.2.9", true, true},
	} {
		if got := adopts(c.networks, c.site, c.address, c.own); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestAdopts(t *testing.T) {
	inside, outside := dhcp.Sighting{Addr: netip.MustParseAddr("192.0.2.9")}, dhcp.Sighting{Addr: netip.MustParseAddr("198.51.100.9")}
	for _, c := range []struct {
		adopt           bool
		networks        []string
		inside, outside bool
	}{{false, nil, false, false}, {true, nil, true, true}, {true, []string{"192.0.2.77/24", "2001:db8::/64"}, true, false}} {
		o := Default()
		o.Mode, o.Interfaces, o.Ranges, o.Adopt, o.AdoptNetworks = Leases, []string{"eth0"}, []string{"192.0.2.10-192.0.2.20"}, c.adopt, c.networks
		s, err := o.Check()
		if err != nil {
			t.Fatal(err)
		}
		if s.Adopts(inside) != c.inside || s.Adopts(outside) != c.outside {
			t.Errorf("%v %v: adopts %v and %v", c.adopt, c.networks, s.Adopts(inside), s.Adopts(outside))
		}
	}
}
