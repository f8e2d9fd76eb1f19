package chart

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

const root = "../../.."

// write packages the chart of the repository.
func write(t *testing.T, version string) string {
	t.Helper()
	var packed bytes.Buffer
	if err := Write(&packed, root, version, time.Unix(1700000000, 0)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), File(version))
	if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// helm runs Helm itself, which `make acceptance` builds, with nobody's settings.
func helm(t *testing.T, args ...string) string {
	t.Helper()
	program := os.Getenv("FARRIER_TEST_HELM")
	if program == "" {
		t.Skip("FARRIER_TEST_HELM names no helm")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestWrite: the same bytes each time, of the version of the release.
func TestWrite(t *testing.T) {
	first, err := os.ReadFile(write(t, "9.8.7-rc.1"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(write(t, "9.8.7-rc.1"))
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("packaged twice: %d and %d bytes, %v", len(first), len(again), err)
	}
	d, err := describe(first)
	if err != nil || d["version"] != "9.8.7-rc.1" || d["appVersion"] != "9.8.7-rc.1" || d["name"] != Name {
		t.Errorf("Chart.yaml has %v, %v", d, err)
	}
	if err := Write(io.Discard, t.TempDir(), "1.0.0", time.Now()); err == nil {
		t.Error("packaged a chart that is not there")
	}
}

// TestHelmTakesIt: Helm pulls what was pushed, and renders it with the images of the version.
func TestHelmTakesIt(t *testing.T) {
	file := write(t, "9.8.7")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	folder := strings.TrimPrefix(server.URL, "http://") + "/charts"
	pushed, err := Push(t.Context(), file, folder)
	if err != nil || !strings.HasPrefix(pushed, folder+"/farrier:9.8.7@sha256:") {
		t.Fatalf("pushed %q, %v", pushed, err)
	}
	pulled := t.TempDir()
	helm(t, "pull", "oci://"+folder+"/farrier", "--version", "9.8.7", "--plain-http", "--destination", pulled)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(pulled, File("9.8.7")))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("pulled %d bytes of %d, %v", len(got), len(want), err)
	}
	out := helm(t, "template", "farrier", filepath.Join(pulled, File("9.8.7")), "--namespace", "farrier-system", "--kube-version", "1.36.0", "--set", "image.repository=registry.example.org/farrier-manager")
	if !strings.Contains(out, "registry.example.org/farrier-manager:9.8.7") {
		t.Error("the rendered chart does not have the image of its version")
	}
}

// TestPushRefuses: what is no package of the chart, or no address.
func TestPushRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.tgz")
	if err := os.WriteFile(bad, []byte("photos"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, folder := range map[string]string{bad: "127.0.0.1:1/charts", filepath.Join(t.TempDir(), "none"): "127.0.0.1:1/charts", write(t, "1.0.0"): "no folder"} {
		if _, err := Push(t.Context(), file, folder); err == nil {
			t.Errorf("pushed %s to %q", file, folder)
		}
	}
}
