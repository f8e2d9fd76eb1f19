package command

import (
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/probe"
	"github.com/farrier-dev/farrier/internal/probe/disk"
	"github.com/farrier-dev/farrier/internal/program/version"
)

const testUUID = "4c4c4544-0043-3510-8052-b7c04f4e4d32"

// fakeMachine has disks that can only be looked at.
type fakeMachine struct{}

func (fakeMachine) SystemUUID() string { return testUUID }

func (fakeMachine) Collect(context.Context) (inspection.Report, error) {
	return inspection.Report{}, nil
}

func (fakeMachine) Disks(context.Context) ([]disk.Disk, error) {
	return []disk.Disk{
		{BlockDevice: inspection.BlockDevice{Path: "/dev/sda", Serial: "S1", SizeBytes: 480e9}},
		{BlockDevice: inspection.BlockDevice{Path: "/dev/sdb", SizeBytes: 32e9, Removable: true}},
	}, nil
}

func (fakeMachine) OpenForErase(context.Context, disk.Disk) (disk.Device, error) {
	panic("opened to be wiped")
}

type lookedAt struct{ disk.Device }

func (lookedAt) Close() error { return nil }

func (fakeMachine) Inspect(context.Context, disk.Disk) (disk.Device, error) { return lookedAt{}, nil }

func openFake(*probe.Listener) machine { return fakeMachine{} }

func noUUID() string { return "" }

func TestParse(t *testing.T) {
	// The flags of the units that run today's agents.
	o := options{lldp: &probe.Listener{}}
	err := o.parse([]string{
		"--registry-url=http://127.0.0.1:1/probe/t", "--server-uuid", testUUID, "--duration=100ms",
		"--registry-client-timeout=1s", "--lldp-sync-interval=50ms", "--lldp-sync-duration=1s",
	}, io.Discard, noUUID)
	if err != nil {
		t.Fatal(err)
	}
	if o.RegistryURL != "http://127.0.0.1:1/probe/t" || o.ServerUUID != testUUID || o.Duration != 100*time.Millisecond || o.ClientTimeout != time.Second {
		t.Errorf("%+v", o.Config)
	}
	if o.lldp.Interval != 50*time.Millisecond || o.lldp.Duration != time.Second {
		t.Errorf("LLDP every %s for %s", o.lldp.Interval, o.lldp.Duration)
	}
}

func TestParseOwnUUID(t *testing.T) {
	o := options{lldp: &probe.Listener{}}
	if err := o.parse([]string{"--registry-url=http://127.0.0.1:1", "--lldp-sync-duration=0"}, io.Discard, fakeMachine{}.SystemUUID); err != nil || o.ServerUUID != testUUID || o.lldp.Duration >= 0 {
		t.Errorf("%v, UUID %q, LLDP for %s", err, o.ServerUUID, o.lldp.Duration)
	}
}

// TestVersionNeedsNothingElse: whoever asks an agent for its version names no boot server.
func TestVersionNeedsNothingElse(t *testing.T) {
	var stdout, stderr strings.Builder
	if err := run(t.Context(), []string{"--version"}, &stdout, &stderr, openFake); err != nil || stdout.String() != "metalprobe "+version.Of().String()+"\n" {
		t.Errorf("prints %q, says %q, %v", stdout.String(), stderr.String(), err)
	}
}

// TestAWrongFlagIsOneLine: the error is not lost behind a page of help.
func TestAWrongFlagIsOneLine(t *testing.T) {
	var stdout, stderr strings.Builder
	err := run(t.Context(), []string{"--registri-url=http://127.0.0.1"}, &stdout, &stderr, openFake)
	if err == nil || !strings.Contains(err.Error(), "registri-url") || stdout.Len()+stderr.Len() > 0 {
		t.Errorf("%v; prints %q and says %q", err, stdout.String(), stderr.String())
	}
}

func TestParseNamesTheFlag(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "--registry-url"},
		{[]string{"--registry-url=http://127.0.0.1:1"}, "--server-uuid"},
		{[]string{"--duration=long"}, "-duration"},
		{[]string{"--lldp-sync-interval=-1s"}, "--lldp-sync-interval"},
		{[]string{"--lldp-sync-duration=-1s"}, "--lldp-sync-duration"},
		{[]string{"--dry-run=shred"}, "want full or metadata"},
		{[]string{"extra"}, `"extra"`},
	} {
		o := options{lldp: &probe.Listener{}}
		if err := o.parse(tc.args, io.Discard, noUUID); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v does not name %s", tc.args, err, tc.want)
		}
	}
}

func TestRunReports(t *testing.T) {
	got := make(chan inspection.Registration, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reg, err := inspection.Decode(r.Body, 1<<20)
		if err != nil || r.URL.Path != "/probe/t/register" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- reg
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(server.Close)
	err := run(t.Context(), []string{"--registry-url=" + server.URL + "/probe/t", "--server-uuid=" + testUUID}, io.Discard, io.Discard, openFake)
	if err != nil {
		t.Fatal(err)
	}
	reg := <-got
	if reg.SystemUUID != testUUID || reg.Data.Timestamp.IsZero() || len(reg.Data.Capabilities) != 2 {
		t.Errorf("registration %+v", reg)
	}
}

func TestDryRun(t *testing.T) {
	for _, tc := range []struct{ flag, method string }{{"--dry-run", "overwrite"}, {"--dry-run=metadata", "metadata"}} {
		var out strings.Builder
		if err := run(t.Context(), []string{tc.flag}, &out, io.Discard, openFake); err != nil {
			t.Fatal(err)
		}
		var got [][]string
		for line := range strings.Lines(out.String()) {
			got = append(got, strings.Fields(line))
		}
		want := [][]string{
			{"DISK", "SIZE", "SERIAL", "WOULD", "BE", "NOTE"},
			{"/dev/sda", "480.0", "GB", "S1", "wiped:", tc.method, "-"},
			{"/dev/sdb", "32.0", "GB", "-", "left", "alone", "removable"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.flag, diff)
		}
	}
}

// TestTrust: whom the boot server is verified with is read from a file, for an https URL alone.
func TestTrust(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.crt")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ url, file, says string }{
		"trusted":    {"https://b/probe/t", file, ""},
		"none":       {"https://b/probe/t", "", ""},
		"plain HTTP": {"http://b/probe/t", file, "--registry-url"},
		"no file":    {"https://b/probe/t", file + "x", "--registry-ca-file"},
		"no PEM":     {"https://b/probe/t", empty, "--registry-ca-file"},
	} {
		o := options{lldp: &probe.Listener{}}
		err := o.parse([]string{"--registry-url", c.url, "--server-uuid", testUUID, "--registry-ca-file", c.file}, io.Discard, noUUID)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q in it", name, err, c.says)
		}
		if (o.HTTPClient != nil) != (name == "trusted") {
			t.Errorf("%s: client %v", name, o.HTTPClient)
		}
	}
}
