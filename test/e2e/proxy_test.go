package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// unpackedFile is a file of a package that hack/e2e-packages.sh has unpacked.
func unpackedFile(t *testing.T, pkg, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../bin/e2e", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v (Debian package %s, which hack/e2e-packages.sh unpacks)", err, pkg)
	}
	return path
}

// TestBesideAnotherServer boots the discovery image where dnsmasq leases the addresses and names nothing to boot: that the product says, beside it.
func TestBesideAnotherServer(t *testing.T) {
	needsNamespace(t)
	program := dnsmasq(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	for _, m := range []struct {
		name   string
		how    firmware
		family string
	}{
		{"BIOS iPXE", biosIPXE, ""},
		{"OVMF PXE to iPXE", uefiPXE, "IPv4"},
		{"OVMF HTTP boot", uefiHTTP, ""},
	} {
		t.Run(m.name, func(t *testing.T) {
			if m.how == biosIPXE {
				inFullRuns(t) // iPXE is in the next one, too
			}
			leaseByDnsmasq(t, program, "beside1")
			tellOfNeighbor(t, segmentTap) // else it is listened for
			d := newDiscovery(t, func(prefixes string) *lab {
				return newSegmentLab(t, func(*lab) []string {
					files := filepath.Dir(unpackedFile(t, "ipxe", "usr/lib/ipxe/snponly.efi"))
					return slices.Concat(ownDiscovery(t), []string{"--mac-prefixes-file", prefixes, "--dhcp=proxy", "--boot-files", files})
				})
			})
			d.registers(t, startOnSegment(t, m.how, identity{d.machine.UUID(), "BESIDE-1"}, d.machine.MAC(), m.family))
		})
	}
}
