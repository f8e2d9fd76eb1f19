package service

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args    string
		problem string
		unknown string
	}{
		"nothing":                       {"", "", Ignore},
		"proxy":                         {"--dhcp=proxy --dhcp-interface=eth0", "", Ignore},
		"proxy for strangers":           {"--dhcp=proxy --dhcp-interface=eth0 --dhcp-unknown=boot", "", Boot},
		"server":                        {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20", "", Boot},
		"server, strangers ignored":     {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-unknown=ignore", "", Ignore},
		"TFTP alone":                    {"--tftp-address=:69", "", Ignore},
		"another mode":                  {"--dhcp=relay", "--dhcp", ""},
		"no interface":                  {"--dhcp=proxy", "--dhcp-interface", ""},
		"an interface and no DHCP":      {"--dhcp-interface=eth0", "--dhcp=off", ""},
		"server without a range":        {"--dhcp=server --dhcp-interface=eth0", "--dhcp-range", ""},
		"proxy with a range":            {"--dhcp=proxy --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20", "--dhcp-range", ""},
		"leases that are too short":     {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-lease-time=1s", "--dhcp-lease-time", ""},
		"another word for strangers":    {"--dhcp-unknown=maybe", "--dhcp-unknown", ""},
		"a reservation without address": {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-reserve=52:54:00:12:34:56", "--dhcp-reserve", ""},
		"a reservation for no MAC":      {"--dhcp=server --dhcp-interface=eth0 --dhcp-range=192.0.2.10-192.0.2.20 --dhcp-reserve=x=192.0.2.1", "--dhcp-reserve", ""},
		"a router that is none":         {"--dhcp-router=gate", "--dhcp-router", ""},
		"a DNS server that is none":     {"--dhcp-dns=ns1", "--dhcp-dns", ""},
		"a TFTP address that is none":   {"--tftp-address=here", "--tftp-address", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := Default()
			f := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.Bind(f)
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
