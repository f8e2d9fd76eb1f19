package machinerecord

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/farrier-dev/farrier/internal/inspection"
)

func wiped(path, method string) inspection.DiskCleanup {
	return inspection.DiskCleanup{Path: path, Serial: "S" + path[len(path)-1:], Method: method, Seconds: 1, Result: inspection.CleanedOK}
}

func TestWhatACleanupComesTo(t *testing.T) {
	exempt := inspection.DiskCleanup{Path: "/dev/sdz", Result: inspection.CleanedExempt, Note: "removable"}
	failed := inspection.DiskCleanup{Path: "/dev/sdf", Serial: "SF", Method: "overwrite", Result: inspection.CleanedFailed, Error: "I/O error\nat 7"}
	for name, tc := range map[string]struct {
		mode     inspection.CleanMode
		disks    []inspection.DiskCleanup
		known    []inspection.BlockDevice
		expected bool
		outcome  Outcome
		summary  string
	}{
		"several ways": {
			mode: "full", disks: []inspection.DiskCleanup{wiped("/dev/sda", "overwrite"), wiped("/dev/nvme0n1", "sanitize"), wiped("/dev/nvme1n1", "sanitize"), exempt},
			outcome: Clean, summary: "3 disks wiped: 2 sanitize, 1 overwrite; 1 exempt",
		},
		"one":               {mode: "metadata", disks: []inspection.DiskCleanup{wiped("/dev/sda", "metadata")}, outcome: Clean, summary: "1 disk wiped: 1 metadata"},
		"one of two failed": {mode: "full", disks: []inspection.DiskCleanup{wiped("/dev/sda", "discard"), failed}, outcome: NotClean, summary: "1 disk not clean: /dev/sdf (SF): I/O error at 7"},
		"less than was asked for": {mode: "full", disks: []inspection.DiskCleanup{wiped("/dev/sda", "metadata")}, outcome: NotClean,
			summary: "1 disk not clean: /dev/sda (Sa): only its metadata was wiped"},
		"a result of the future": {mode: "full", disks: []inspection.DiskCleanup{{Path: "/dev/sda", Result: "maybe"}}, outcome: NotClean,
			summary: `1 disk not clean: /dev/sda: unknown result "maybe"`},
		"one is passed over": {
			mode: "metadata", disks: []inspection.DiskCleanup{wiped("/dev/sda", "metadata")},
			known:   []inspection.BlockDevice{{Name: "sda", Path: "/dev/sda", SizeBytes: 1}, {Name: "sdb", Path: "/dev/sdb", SizeBytes: 1}},
			outcome: NotClean, summary: "1 disk not clean: /dev/sdb: not in the report",
		},
		"what does not count is passed over": {
			mode: "metadata", disks: []inspection.DiskCleanup{wiped("/dev/sda", "metadata")},
			known: []inspection.BlockDevice{
				{Name: "sda", SizeBytes: 1}, {Name: "sr0", Removable: true, SizeBytes: 1}, {Name: "loop0", ReadOnly: true, SizeBytes: 1}, {Name: "sdc"}, {Name: "x", Serial: "Sa", SizeBytes: 1},
			},
			outcome: Clean, summary: "1 disk wiped: 1 metadata",
		},
		"no disks":                  {mode: "full", outcome: Clean, summary: "0 disks wiped"},
		"no disks, and there are":   {mode: "full", expected: true, outcome: NotClean, summary: "1 disk not clean: the machine has disks, and none was wiped"},
		"all exempt, and there are": {mode: "full", disks: []inspection.DiskCleanup{exempt}, expected: true, outcome: NotClean, summary: "1 disk not clean: the machine has disks, and none was wiped"},
	} {
		t.Run(name, func(t *testing.T) {
			outcome, summary := Judge(tc.mode, tc.disks, tc.known, tc.expected)
			if outcome != tc.outcome || summary != tc.summary {
				t.Errorf("%s: %s\nwant %s: %s", outcome, summary, tc.outcome, tc.summary)
			}
		})
	}
}

func TestASummaryIsBoundedWhateverAnAgentSays(t *testing.T) {
	var disks []inspection.DiskCleanup
	for range 1000 {
		disks = append(disks, inspection.DiskCleanup{Path: strings.Repeat("é", 500), Result: inspection.CleanedFailed, Error: strings.Repeat("\x00\xff", 500)})
	}
	outcome, summary := Judge("full", disks, nil, true)
	if outcome != NotClean || len(summary) > maxSummary+10 || !utf8.ValidString(summary) || strings.ContainsAny(summary, "\x00\n") {
		t.Errorf("%s: %d bytes", outcome, len(summary))
	}
}
