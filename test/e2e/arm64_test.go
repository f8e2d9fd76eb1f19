package e2e

import (
	"testing"
)

// TestARM64 boots the discovery image of ARM64 by UEFI HTTP boot, which our own DHCP server starts.
func TestARM64(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	tellOfNeighbor(t, segmentTap)
	d := newDiscovery(t, func(prefixes string) *lab {
		return newSegmentLab(t, func(l *lab) []string {
			reference := l.registry.Reference("probe", "arm64")
			stub := unpackedFile(t, "systemd-boot-efi:arm64", "arm64/usr/lib/systemd/boot/efi/linuxaa64.efi.stub")
			buildProbeFor(t, reference, "--root", unpackedFile(t, "linux-image-cloud-arm64", "arm64"), "--agent", buildAgent(t, "arm64"), "--stub", stub)
			return append(leases(), "--mac-prefixes-file", prefixes, "--probe-os-image", reference)
		})
	})
	d.registers(t, startOnSegment(t, armHTTP, identity{d.machine.UUID(), "ARM-1"}, d.machine.MAC(), ""))
	report := d.report(t)
	if s := report.SystemInfo.System; s.SerialNumber != "ARM-1" || s.UUID != d.machine.UUID() {
		t.Errorf("SMBIOS: %+v", s)
	}
	if len(report.CPU) == 0 || len(report.LLDP) == 0 {
		t.Errorf("processors %+v, neighbours %+v", report.CPU, report.LLDP)
	}
}
