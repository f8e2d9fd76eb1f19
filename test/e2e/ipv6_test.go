package e2e

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// TestIPv6Only boots the discovery image where there is no IPv4: the product's DHCPv6 leases the addresses, and its router advertisements say that there is DHCPv6.
func TestIPv6Only(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	pool := netip.MustParsePrefix("2001:db8::1000/120")
	for _, m := range []struct {
		name string
		how  firmware
	}{
		{"BIOS iPXE", biosIPXE},
		{"OVMF HTTP boot", uefiHTTP},
	} {
		t.Run(m.name, func(t *testing.T) {
			if m.how == uefiHTTP {
				inFullRuns(t) // OVMF tries IPv4 for a minute before
			}
			tellOfNeighbor(t, segmentTap)
			d := newDiscovery(t, func(prefixes string) *lab {
				return newSegmentLabAt(t, segmentAddress6, func(*lab) []string {
					return slices.Concat(ownDiscovery(t), []string{
						"--mac-prefixes-file", prefixes, "--dhcp=server", "--dhcp-range=2001:db8::1000-2001:db8::10ff/64", "--dhcp-router-advertisements",
					})
				})
			})
			d.registers(t, startOnSegment(t, m.how, identity{d.machine.UUID(), "SIX-1"}, d.machine.MAC(), ""))
			report := d.report(t)
			if !slices.ContainsFunc(report.NetworkInterfaces, func(n inspection.NetworkInterface) bool {
				return n.MACAddress == strings.ToLower(d.machine.MAC()) && slices.ContainsFunc(n.IPAddresses, func(text string) bool {
					address, err := netip.ParseAddr(text)
					return err == nil && pool.Contains(address)
				})
			}) {
				t.Errorf("no address of the range: %+v", report.NetworkInterfaces)
			}
		})
	}
}
