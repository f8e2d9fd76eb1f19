package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp/service"
	"github.com/farrier-dev/farrier/test/product"
)

// TestOtherDHCPServersAreFound runs a server beside another on one segment, with no client there: what finds them is a search.
func TestOtherDHCPServersAreFound(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	believeOwnAddresses(t)
	t.Run("alone", func(t *testing.T) {
		m := serveBeside(t)
		conn := clientAt(t, "br0")
		ask(t, conn, [6]byte{0x52, 0x54, 0, 0, 3, 1}, []byte{53, 1, 1}) // answered after the search
		if n := found(t, m, 0); n != 0 {
			t.Errorf("found %v", n)
		}
	})
	t.Run("dnsmasq", func(t *testing.T) {
		runDnsmasq(t, dnsmasq(t))
		found(t, serveBeside(t), 1)
	})
	t.Run("ours", func(t *testing.T) {
		runOurs(t)
		found(t, serveBeside(t), 1)
	})
}

// TestOtherDHCPv6ServersAreFound is the same over IPv6.
func TestOtherDHCPv6ServersAreFound(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	out, err := exec.CommandContext(t.Context(), "ip", "addr", "add", "2001:db8::2/64", "dev", "beside1", "nodad").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	linkLocal(t, "beside1")
	linkLocal(t, "br0")
	beside := func(t *testing.T) *service.Metrics {
		return runService(t, unknowing(t), t.TempDir(), "--dhcp=server --dhcp-interface=beside1 --dhcp-range=2001:db8::3000-2001:db8::30ff --dhcp-unknown=ignore")
	}
	t.Run("alone", func(t *testing.T) {
		m := beside(t)
		solicit(t, "br0") // answered after the search
		if n := found(t, m, 0); n != 0 {
			t.Errorf("found %v", n)
		}
	})
	t.Run("dnsmasq", func(t *testing.T) {
		runDnsmasq(t, dnsmasq(t))
		found(t, beside(t), 1)
	})
	t.Run("ours", func(t *testing.T) {
		runService(t, unknowing(t), t.TempDir(), "--dhcp=server --dhcp-interface=br0 --dhcp-range=2001:db8::1000-2001:db8::10ff")
		found(t, beside(t), 1)
	})
}

// found waits until so many other servers were found.
func found(t *testing.T, m *service.Metrics, want float64) (got float64) {
	t.Helper()
	r := prometheus.NewRegistry()
	if err := r.Register(m); err != nil {
		t.Fatal(err)
	}
	product.Eventually(t, "other DHCP servers", func(context.Context) error {
		families, err := r.Gather()
		if err != nil {
			return err
		}
		for _, f := range families {
			if f.GetName() == "farrier_dhcp_other_servers" {
				if got = f.GetMetric()[0].GetGauge().GetValue(); got >= want {
					return nil
				}
			}
		}
		return fmt.Errorf("%v", got)
	})
	return got
}
