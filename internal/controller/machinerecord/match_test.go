package machinerecord

import (
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/inspection"
)

func TestMatch(t *testing.T) {
	sda := inspection.BlockDevice{Name: "sda", Path: "/dev/sda", Serial: "S1", SizeBytes: 10}
	nvme := inspection.BlockDevice{Name: "nvme0n1", Serial: " s2 ", SizeBytes: 20}
	virtual := inspection.BlockDevice{Name: "vda", SizeBytes: 5}
	stick := inspection.BlockDevice{Name: "sdx", Serial: "U", Removable: true, SizeBytes: 1}
	changed := func(d inspection.BlockDevice, change func(*inspection.BlockDevice)) inspection.BlockDevice {
		change(&d)
		return d
	}
	for name, tc := range map[string]struct {
		known    Known
		reported []inspection.BlockDevice
		matched  string
		missing  string // a word of each, by commas
	}{
		"all there": {Known{Inspected: []inspection.BlockDevice{sda, nvme, virtual, stick}, Drives: []string{"S1", "S2"}}, []inspection.BlockDevice{nvme, sda, virtual},
			"3 disks of the last inspection, 2 drives of the BMC's inventory", ""},
		"an invented one": {Known{Inspected: []inspection.BlockDevice{sda}, Drives: []string{"S1"}}, []inspection.BlockDevice{{Name: "sda", Path: "/dev/sda", Serial: "FORGED", SizeBytes: 10}},
			"0 disks of the last inspection, 0 drives of the BMC's inventory", "S1,drive S1"},
		"another size": {Known{Inspected: []inspection.BlockDevice{sda}}, []inspection.BlockDevice{changed(sda, func(d *inspection.BlockDevice) { d.SizeBytes++ })},
			"0 disks of the last inspection, 0 drives of the BMC's inventory", "S1"},
		"said to be removable now": {Known{Inspected: []inspection.BlockDevice{sda}}, []inspection.BlockDevice{changed(sda, func(d *inspection.BlockDevice) { d.Removable = true })},
			"0 disks of the last inspection, 0 drives of the BMC's inventory", "S1"},
		"under another name": {Known{Inspected: []inspection.BlockDevice{sda}}, []inspection.BlockDevice{changed(sda, func(d *inspection.BlockDevice) { d.Name, d.Path = "sdb", "/dev/sdb" })},
			"1 disk of the last inspection, 0 drives of the BMC's inventory", ""},
		"no disks at all":      {Known{Inspected: []inspection.BlockDevice{sda}, Drives: []string{"S1"}}, nil, "0 disks of the last inspection, 0 drives of the BMC's inventory", "S1,drive S1"},
		"a new one beside":     {Known{Inspected: []inspection.BlockDevice{sda}}, []inspection.BlockDevice{sda, nvme}, "1 disk of the last inspection, 0 drives of the BMC's inventory", ""},
		"taken out":            {Known{Inspected: []inspection.BlockDevice{sda, nvme}, Drives: []string{"S1", "S2"}, Removed: []string{"s2"}}, []inspection.BlockDevice{sda}, "1 disk of the last inspection, 1 drive of the BMC's inventory", ""},
		"behind a controller":  {Known{Inspected: []inspection.BlockDevice{virtual}, Drives: []string{"S1"}}, []inspection.BlockDevice{virtual}, "1 disk of the last inspection, 0 drives of the BMC's inventory; 1 drive of the BMC that no system sees", ""},
		"never inspected":      {Known{Drives: []string{"S1"}}, []inspection.BlockDevice{virtual}, "0 disks of the last inspection, 0 drives of the BMC's inventory", "drive S1"},
		"nothing known at all": {Known{}, []inspection.BlockDevice{virtual}, "0 disks of the last inspection, 0 drives of the BMC's inventory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			matched, missing := Match(tc.known, tc.reported)
			if matched != tc.matched {
				t.Errorf("matched %q, want %q", matched, tc.matched)
			}
			var want []string
			if tc.missing != "" {
				want = strings.Split(tc.missing, ",")
			}
			if len(missing) != len(want) {
				t.Fatalf("missing %q, want %q", missing, want)
			}
			for i := range want {
				if !strings.Contains(missing[i], want[i]) {
					t.Errorf("missing %q, want %q", missing[i], want[i])
				}
			}
		})
	}
}

// TestADiskThatIsLeftAloneIsNotClean: an agent may say so of what it may not wipe, and not of what was to be wiped.
func TestADiskThatIsLeftAloneIsNotClean(t *testing.T) {
	known := []inspection.BlockDevice{{Name: "sda", Serial: "S1", SizeBytes: 1}, {Name: "sdb", Serial: "S2", SizeBytes: 1}}
	outcome, summary := Judge(inspection.CleanMetadata, []inspection.DiskCleanup{
		{Path: "/dev/sda", Serial: "S1", Method: "metadata", Result: inspection.CleanedOK}, {Path: "/dev/sdb", Serial: "S2", Result: inspection.CleanedExempt},
	}, known, true)
	if outcome != NotClean || !strings.Contains(summary, "sdb: not wiped") {
		t.Errorf("%s: %s", outcome, summary)
	}
}
