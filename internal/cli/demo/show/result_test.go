package show

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/cli/screen"
	"github.com/farrier-dev/farrier/test/golden"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) Moment { return MomentAt(noon, noon.Add(d)) }

const ms = time.Millisecond

// result is a demo of one server, shortened.
func result() *Result {
	sum := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	return &Result{
		OK: true, Start: at(0), Seconds: Seconds(21345 * ms), BootSeconds: Seconds(4123 * ms),
		Steps: []Step{
			{Name: "system started", OK: true, Begin: at(0), Took: Seconds(1800 * ms)},
			{Name: "endpoints created", OK: true, Begin: at(1800 * ms), Took: Seconds(50 * ms)},
		},
		Servers: []ServerHistory{{
			Name: "sim-0001-system-0", SystemUUID: "0c9de8c4-1111-5222-8333-444455556666", Model: "FX-2000",
			States: []Change{{"Initial", at(2000 * ms)}, {"Discovery", at(2100 * ms)}, {"Available", at(6000 * ms)}},
			Power:  []Change{{"Off", at(2000 * ms)}, {"On", at(4000 * ms)}, {"Off", at(7000 * ms)}},
		}},
		Claims: []ClaimHistory{{
			Name: "default/demo-1", Server: "sim-0001-system-0", Image: "127.0.0.1:5000/farrier/sample:latest", OK: true,
			Files: []File{
				{What: "script", URL: "http://127.0.0.1:8082/ipxe/0c9de8c4", Fetched: sum("a"), Expected: sum("a"), Bytes: 1234, Took: Seconds(ms), OK: true},
				{What: "kernel", URL: "http://127.0.0.1:8082/image?layerDigest=sha256:b&version=latest", Fetched: sum("b"), Expected: sum("b"), Bytes: 2 << 20, Took: Seconds(12 * ms), OK: true},
			},
			Cleanup: &Cleanup{Mode: "full", OK: true, Summary: "1 disk wiped: 1 nvme-sanitize-block", Disks: []WipedDisk{{
				Path: "/dev/nvme0n1", Serial: "NV0001", Method: "nvme-sanitize-block", Took: Seconds(12 * ms), Result: "ok",
				Before: []string{"partition table", "tenant data"}, After: []string{},
			}}},
			Phases: []Phase{{"claimed → bound", Seconds(120 * ms)}, {"powered on → running", Seconds(2400 * ms)}},
			Events: []Event{
				{at(1850 * ms), "found", "Endpoint created", "02:fa:44:00:00:01 at 127.64.0.1", 0},
				{at(1990 * ms), "found", "BMC answers", "", Seconds(140 * ms)},
				{at(7100 * ms), "claimed", "claim created", "default/demo-1", Seconds(5110 * ms)},
				{at(9100 * ms), "claimed", "got kernel", "2.0 MiB", Seconds(12300 * time.Microsecond)},
				{at(9120 * ms), "claimed", "got script", "1.2 KiB", Seconds(900 * time.Microsecond)},
				{at(130 * time.Second), "released", "Server Available", "", Seconds(121 * time.Second)},
			},
		}},
	}
}

func failedResult() *Result {
	r := result()
	r.OK, r.FailedStep, r.Why = false, "files verified", "claim default/demo-1: kernel: the machine\ndid not fetch it"
	r.Claims[0].OK = false
	r.Claims[0].Files[1] = File{What: "kernel", Expected: r.Claims[0].Files[1].Expected, Why: "the machine did not fetch it"}
	r.Claims[0].Cleanup.OK = false
	d := &r.Claims[0].Cleanup.Disks[0]
	d.Result, d.Why, d.After = "failed", "input/output error", d.Before
	r.Steps = append(r.Steps, Step{Name: "files verified", Begin: at(9 * time.Second), Took: Seconds(3 * ms), Why: r.Why})
	return r
}

func TestWriteText(t *testing.T) {
	many := result()
	for i := range 4 {
		c := many.Claims[0]
		c.Phases = []Phase{{"claimed → bound", Seconds(time.Duration(i+1) * time.Second)}}
		many.Claims = append(many.Claims, c)
	}
	for name, c := range map[string]struct {
		result *Result
		paint  screen.Paint
	}{
		"one": {result(), false}, "colours": {result(), true}, "failed": {failedResult(), false}, "many": {many, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := errors.Join(c.result.WriteTimelines(&out, c.paint), c.result.WriteSummary(&out, c.paint)); err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, filepath.Join("testdata", "result-"+name+".txt"), strings.ReplaceAll(out.String(), "\x1b", "␛"))
		})
	}
}

func TestWriteTextOfNothing(t *testing.T) {
	var out bytes.Buffer
	r := &Result{FailedStep: "system started", Why: "port taken"}
	if err := errors.Join(r.WriteTimelines(&out, false), r.WriteSummary(&out, false)); err != nil || out.Len() > 0 {
		t.Errorf("wrote %q, %v; want nothing", out.String(), err)
	}
	if got, want := r.Failure(), `demo failed at step "system started": port taken`; got != want {
		t.Errorf("failure is %q, want %q", got, want)
	}
	r.Interrupted = true
	if got, want := r.Failure(), `demo interrupted at step "system started"; everything that it started has ended`; got != want {
		t.Errorf("failure is %q, want %q", got, want)
	}
}

func TestWriteJSON(t *testing.T) {
	for name, r := range map[string]*Result{"ok": result(), "failed": failedResult()} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := r.WriteJSON(&out); err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, filepath.Join("testdata", "result-"+name+".json"), out.String())
		})
	}
}

func TestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{5863 * ms: "5.863", 2 * time.Second: "2", 1499 * time.Microsecond: "0.001"} {
		if got, err := Seconds(d).MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%s in JSON is %s, %v; want %s", d, got, err, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0.0ms", 1234 * time.Microsecond: "1.2ms", 12 * ms: "12ms", 1500 * ms: "1.50s", 59 * time.Second: "59.00s", 61 * time.Second: "1m01s",
	} {
		if got := took(d); got != want {
			t.Errorf("took(%s) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 20: "3.0 MiB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestMoving: what is quiet counts and is not told, and what comes from outside is harmless.
func TestMoving(t *testing.T) {
	m := Moving{Start: noon, Story: story{
		{At: noon.Add(3200 * ms), Subject: "sim-0001-system-0", From: "Discovery", To: "Available"},
		{At: noon.Add(3300 * ms), Subject: "Endpoint sim-0001", To: "created", Quiet: true},
		{At: noon.Add(101 * time.Second), Subject: "sim-0001-system-0", Aspect: "power", To: "Off\n"},
	}}
	lines, all := m.News(0)
	if want := []string{"    3.2s  sim-0001-system-0  Discovery → Available", "  101.0s  sim-0001-system-0  power Off "}; !slices.Equal(lines, want) || all != 3 {
		t.Errorf("news %q of %d, want %q of 3", lines, all, want)
	}
	if lines, all = m.News(3); len(lines) > 0 || all != 3 {
		t.Errorf("news %q of %d, want none of 3", lines, all)
	}
}

// story is what has happened in a demo.
type story []Transition

func (story) Changed() <-chan struct{}         { return nil }
func (s story) Transitions(n int) []Transition { return s[n:] }
func (story) Frame() Frame                     { return Frame{} }
