package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/cli/demo/scenario"
	"github.com/farrier-dev/farrier/internal/sim"
)

// object is the part of the JSON result that people have programs for.
type object struct {
	OK         bool   `json:"ok"`
	FailedStep string `json:"failedStep"`
	Why        string `json:"why"`
	Servers    []struct {
		Name   string `json:"name"`
		States []struct {
			Value string    `json:"value"`
			At    time.Time `json:"at"`
		} `json:"states"`
	} `json:"servers"`
	Claims []struct {
		OK      bool `json:"ok"`
		Cleanup struct {
			OK    bool   `json:"ok"`
			Mode  string `json:"mode"`
			Disks []struct {
				Serial, Method, Result string
				Before, After          []string
			} `json:"disks"`
		} `json:"cleanup"`
		Files []struct {
			What     string `json:"what"`
			Fetched  string `json:"fetched"`
			Expected string `json:"expected"`
		} `json:"files"`
	} `json:"claims"`
}

// decode wants one JSON object and nothing after it.
func decode(t *testing.T, out io.Reader) object {
	t.Helper()
	var o object
	d := json.NewDecoder(out)
	if err := d.Decode(&o); err != nil {
		t.Fatalf("standard output: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("after the object: %v, want the end", err)
	}
	return o
}

// busy is how long a run may take on a machine that does much else: the steps get as much more.
const busy = time.Hour

func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a whole system")
	}
	o := DefaultOptions()
	o.Servers, o.Claims, o.Output, o.Timeout = 2, 2, OutputJSON, busy
	o.Keep = filepath.Join(t.TempDir(), "kept")
	var stdout, stderr bytes.Buffer
	if err := Run(t.Context(), o, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	result := decode(t, &stdout)
	if !result.OK || len(result.Servers) != 2 || len(result.Claims) != 2 || stderr.Len() > 0 {
		t.Fatalf("result %+v, standard error %q", result, stderr.String())
	}
	for _, s := range result.Servers {
		var states []string
		for _, c := range s.States {
			states = append(states, c.Value)
		}
		// A server is seen in Initial only where its BMC takes its time.
		if got, want := strings.TrimPrefix(strings.Join(states, " "), "Initial "), "Discovery Available Reserved Cleanup Available"; got != want {
			t.Errorf("%s went through %s, want %s", s.Name, got, want)
		}
	}
	for _, c := range result.Claims {
		if !c.OK || len(c.Files) != 5 {
			t.Errorf("claim ok %v with files %+v", c.OK, c.Files)
		}
		if !c.Cleanup.OK || c.Cleanup.Mode != "full" || len(c.Cleanup.Disks) == 0 {
			t.Errorf("cleanup %+v", c.Cleanup)
		}
		for _, d := range c.Cleanup.Disks {
			if d.Serial == "" || d.Method == "" || d.Result != "ok" || !slices.Contains(d.Before, string(sim.TraceData)) || len(d.After) > 0 {
				t.Errorf("disk %+v; want the tenant's data before, and nothing after", d)
			}
		}
		for _, f := range c.Files {
			if !strings.HasPrefix(f.Fetched, "sha256:") || f.Fetched != f.Expected {
				t.Errorf("%s: fetched %s, expected %s", f.What, f.Fetched, f.Expected)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(o.Keep, "farrier.log")); err != nil {
		t.Errorf("kept directory: %v", err)
	}
}

func TestRunNamesTheStepThatDidNotHappen(t *testing.T) {
	if testing.Short() {
		t.Skip("starts whole systems")
	}
	for _, c := range []struct {
		damage    Break
		step, why string
	}{
		{BreakPassword, "BMCs connected", "AuthenticationFailed"},
		{BreakImage, "boot configurations ready", "no initramfs layer"},
		{BreakDisk, "disks wiped", "it is in Error, tainted farrier.dev/not-clean:NoBind"},
		{BreakSecret, "boot configurations ready", `has no key "ignition"`},
	} {
		t.Run(string(c.damage), func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			o := DefaultOptions()
			o.Servers, o.Break, o.Output, o.grace, o.Timeout = 1, c.damage, OutputJSON, 2*time.Second, busy
			var stdout, stderr bytes.Buffer
			err := Run(t.Context(), o, &stdout, &stderr)
			if err == nil || !strings.HasPrefix(err.Error(), `demo failed at step "`+c.step+`": `) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("error %v; want step %q and %q", err, c.step, c.why)
			}
			result := decode(t, &stdout)
			if result.OK || result.FailedStep != c.step || !strings.Contains(result.Why, c.why) {
				t.Errorf("result %+v; want step %q and %q", result, c.step, c.why)
			}
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestRunIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := DefaultOptions()
	o.grace = scenario.DefaultGrace
	var stdout bytes.Buffer
	err := Run(ctx, o, &stdout, io.Discard)
	if err == nil || err.Error() != `demo interrupted at step "system started"; everything that it started has ended` || stdout.Len() > 0 {
		t.Errorf("error %v after %q, want that the first step was interrupted", err, stdout.String())
	}
}
