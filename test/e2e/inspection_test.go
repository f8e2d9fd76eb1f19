package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/test/product"
)

// TestInspection boots the discovery image in machines with a TPM, behind a switch that speaks LLDP, with SMBIOS structures of their own, on a segment where the product is the
// only DHCP server: the record of the inspection has all of it.
func TestInspection(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	t.Run("bios", func(t *testing.T) {
		inFullRuns(t) // TestLife inspects one
		d := newDiscovery(t, func(prefixes string) *lab {
			return newSegmentLab(t, func(*lab) []string {
				return slices.Concat(leases(), ownDiscovery(t), []string{"--mac-prefixes-file", prefixes})
			})
		})
		report := d.inspects(t, biosIPXE, "tpm-tis")
		if diff := cmp.Diff(strings.Repeat("0", 64), pcr(report, 11)); diff != "" {
			t.Errorf("PCR 11, which nothing extends without a UKI (-want +got):\n%s", diff)
		}
	})
	t.Run("uefi", func(t *testing.T) {
		predicted := ""
		d := newDiscovery(t, func(prefixes string) *lab {
			return newSegmentLab(t, func(l *lab) []string {
				reference := l.registry.Reference("probe", "1")
				image, _ := kernel(t)
				predicted = buildProbeFor(t, reference, "--root", filepath.Join(filepath.Dir(image), ".."), "--command-line", "console=ttyS0,115200 consoleblank=0 panic=60")
				return append(leases(), "--mac-prefixes-file", prefixes, "--probe-os-image", reference)
			})
		})
		report := d.inspects(t, uefiHTTP, "tpm-crb")
		if diff := cmp.Diff(predicted, pcr(report, 11)); diff != "" {
			t.Errorf("PCR 11 (-predicted by farrier image build, +of the machine):\n%s", diff)
		}
	})
}

// buildProbeFor has the product build the discovery image, and returns the PCR 11 that it predicts.
func buildProbeFor(t *testing.T, reference string, flags ...string) string {
	t.Helper()
	files := t.TempDir()
	out, problem, code := product.Ask(t, product.Farrier, append([]string{"image", "build", reference, "--plain-http", "--files", files}, flags...)...)
	if code != 0 {
		t.Fatalf("farrier image build: %s%s", out, problem)
	}
	found, err := filepath.Glob(filepath.Join(files, "*pcr11*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("no predicted PCR 11 in %v, %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// inspects boots a machine and compares the record with what it was given.
func (d *discovered) inspects(t *testing.T, how firmware, tpmModel string) inspection.Report {
	t.Helper()
	tpm := newTPM(t)
	tellOfNeighbor(t, segmentTap)
	d.registers(t, startOnSegment(t, how, identity{d.machine.UUID(), "INSPECTED-1"}, d.machine.MAC(), "", append(tpm.device(tpmModel),
		"-smbios", "type=0,vendor=ACME Firmware,version=1.2.3,date=02/29/2024",
		"-smbios", "type=1,product=Box 9000,version=7,sku=SKU-9,family=Boxes",
		"-smbios", "type=2,manufacturer=ACME Boards,product=Board 1,version=B,serial=BOARD-1,asset=ASSET-1",
		"-smbios", "type=17,loc_pfx=SLOT,bank=BANK 0,manufacturer=ACME Memory,serial=MEMORY-1,asset=ASSET-2,part=PART-1,speed=3200",
	)...))
	report := d.report(t)

	want := inspection.SystemInfo{
		System: inspection.SystemInformation{
			Manufacturer: "Emulated", ProductName: "Box 9000", Version: "7", SerialNumber: "INSPECTED-1", UUID: d.machine.UUID(), SKUNumber: "SKU-9", Family: "Boxes",
		},
		BIOS:  inspection.BIOSInformation{Vendor: "ACME Firmware", Version: "1.2.3", Date: "02/29/2024"},
		Board: inspection.BoardInformation{Manufacturer: "ACME Boards", Product: "Board 1", Version: "B", SerialNumber: "BOARD-1", AssetTag: "ASSET-1"},
	}
	if diff := cmp.Diff(want, report.SystemInfo); diff != "" {
		t.Errorf("SMBIOS (-given +reported):\n%s", diff)
	}
	if len(report.Memory) != 1 {
		t.Errorf("memory modules: %+v", report.Memory)
	} else {
		m := report.Memory[0]
		given := []string{"ACME Memory", "MEMORY-1", "ASSET-2", "PART-1", "BANK 0", fmt.Sprint(512 << 20)}
		if diff := cmp.Diff(given, []string{m.Vendor, m.SerialNumber, m.AssetTag, m.PartNumber, m.BankLocator, fmt.Sprint(m.SizeBytes)}); diff != "" {
			t.Errorf("memory (-given +reported):\n%s", diff)
		}
	}
	if diff := cmp.Diff(inspection.LLDP{{Name: "eth0", Neighbors: []inspection.Neighbor{neighbor}}}, report.LLDP); diff != "" {
		t.Errorf("neighbours (-sent +reported):\n%s", diff)
	}
	checkTPM(t, tpm, report.TPM)
	return report
}

// checkTPM compares what a machine tells of its TPM with the TPM.
func checkTPM(t *testing.T, made emulatedTPM, got *inspection.TPM) {
	t.Helper()
	if got == nil {
		t.Fatal("no TPM is reported")
	}
	if got.Version != "2" {
		t.Errorf("version %q", got.Version)
	}
	if made.modulus == "" || modulusOf(got.EndorsementKey) != made.modulus {
		t.Errorf("the endorsement key has the modulus %s, and its maker says %s", modulusOf(got.EndorsementKey), made.modulus)
	}
	if len(got.EventLog) == 0 {
		t.Error("no event log")
	}
	for _, algorithm := range []string{"sha256"} {
		at := slices.IndexFunc(got.PCRs, func(b inspection.PCRBank) bool { return b.Algorithm == algorithm })
		if at < 0 || len(got.PCRs[at].Values) != 24 {
			t.Fatalf("bank %s: %+v", algorithm, got.PCRs)
		}
	}
	if measured := pcr(inspection.Report{TPM: got}, 0); strings.Trim(measured, "0") == "" {
		t.Error("the firmware has measured nothing into PCR 0")
	}
}

// pcr is a value of the SHA-256 bank.
func pcr(r inspection.Report, n int) string {
	if r.TPM != nil {
		for _, bank := range r.TPM.PCRs {
			if bank.Algorithm == "sha256" && n < len(bank.Values) {
				return bank.Values[n]
			}
		}
	}
	return ""
}
