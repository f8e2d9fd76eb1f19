package show

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/cli/screen"
	"github.com/farrier-dev/farrier/test/golden"
)

// small is a rack in which something of everything happens.
func small() Frame {
	return Frame{
		Elapsed: 12340 * time.Millisecond,
		Step:    "machines booted", Number: 9, Steps: 14, Have: 0, Want: 1,
		Means: "The machine is switched on, and boots the image over the network.",
		Hint:  "kubectl --kubeconfig /tmp/farrier-demo-1/data/kubeconfig get servers",
		Servers: []Server{
			{Name: "sim-0001-system-0", Model: "FX-2000", Power: "On", State: "Reserved", For: 1200 * time.Millisecond, Claim: "default/demo-1", Doing: "got kernel, 2.0 MiB"},
			{Name: "sim-0002-system-0", Model: "FX-2000", Power: "Off", State: "Available", For: 65 * time.Second},
			{Name: "sim-0003-system-0", Model: "FX-2000", Power: "On", State: "Discovery", For: 12 * time.Second, Doing: "script: HTTP 503 Service Unavailable", Trouble: true},
			{Name: "sim-0004", Doing: "BMC sim-0004: AuthenticationFailed: the BMC refuses\nthe credentials", Trouble: true},
		},
	}
}

// large is a rack of a hundred servers in the middle of discovery.
func large() Frame {
	f := Frame{Elapsed: 41 * time.Second, Step: "servers discovered", Number: 5, Steps: 14, Have: 52, Want: 100}
	for i := range 100 {
		s := Server{Name: fmt.Sprintf("sim-%04d-system-0", i+1), Power: "Off", State: "Available", For: time.Duration(100-i) * time.Second / 3}
		switch {
		case i%2 == 0 && i < 96:
			s.State, s.Power, s.Doing, s.For = "Discovery", "On", "self test", time.Duration(i+10)*time.Second/10
		case i == 98:
			s.State, s.Doing, s.Trouble = "Error", "DiscoveryFailed", true
		case i == 31:
			s.State, s.Claim = "Reserved", "default/demo-1"
		}
		f.Servers = append(f.Servers, s)
	}
	return f
}

// text is what lines look like in a file, escape sequences made visible.
func text(lines []string) string {
	return strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\x1b", "␛")
}

func TestFrame(t *testing.T) {
	starting := Frame{Elapsed: 300 * time.Millisecond, Step: "system started", Number: 1, Steps: 14, Means: "Farrier starts: its Kubernetes API, a boot server, and a simulated rack."}
	failed := small()
	failed.Failed = "failed: claim default/demo-1: BootConfigurationError: image 127.0.0.1:5000/a:b lacks an initramfs layer"
	over := small()
	over.Number = 15
	for _, c := range []struct {
		name          string
		frame         Frame
		width, height int
		paint         screen.Paint
	}{
		{"starting", starting, 80, 24, false},
		{"small-80", small(), 80, 24, false},
		{"small-120", small(), 120, 24, false},
		{"small-45", small(), 45, 24, false},
		{"small-colours", small(), 120, 24, true},
		{"small-done", over, 80, 24, false},
		{"small-failed", failed, 80, 24, false},
		{"small-tiny", small(), 5, 3, false},
		{"large-80x24", large(), 80, 24, false},
		{"large-120x50", large(), 120, 50, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden.Equal(t, filepath.Join("testdata", "frame-"+c.name+".txt"), text(c.frame.Lines(c.width, c.height, c.paint)))
		})
	}
}

var escape = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// TestFrameFits is about all sizes: a line that is too long, or one too many, tears the picture.
func TestFrameFits(t *testing.T) {
	for columns := minWidth; columns <= 140; columns += 3 {
		for _, height := range []int{minHeight, minHeight + 1, roomy, 24, 110, 120} {
			for _, f := range []Frame{small(), large(), {}} {
				lines := f.Lines(columns, height, true)
				if len(lines) > height-1 {
					t.Fatalf("%dx%d: %d lines", columns, height, len(lines))
				}
				for _, line := range lines {
					if w := screen.Width(escape.ReplaceAllString(line, "")); w > columns {
						t.Fatalf("%dx%d: line of %d columns: %q", columns, height, w, line)
					}
				}
			}
		}
	}
}

func TestChoose(t *testing.T) {
	shown, hidden := choose(large().Servers, 6)
	var names []string
	for _, s := range shown {
		names = append(names, s.Name[4:8])
	}
	// The one in trouble, the claimed one, and the three that changed last; in the order of the rack.
	if diff := cmp.Diff([]string{"0001", "0032", "0098", "0099", "0100"}, names); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if len(shown)+len(hidden) != 100 {
		t.Errorf("%d shown and %d hidden of 100", len(shown), len(hidden))
	}
}
