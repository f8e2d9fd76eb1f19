package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnImportOfNothingFails, says why, and leaves no empty file.
func TestAnImportOfNothingFails(t *testing.T) {
	dir := t.TempDir()
	manifest, output := filepath.Join(dir, "in.yaml"), filepath.Join(dir, "out.yaml")
	if err := os.WriteFile(manifest, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "matchbox", "groups"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "matchbox", "groups", "a.json"), []byte(`{"profile": "gone"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"ConfigMap": {"import", "manifests", manifest, "-o", output},
		"gone":      {"import", "matchbox", filepath.Join(dir, "matchbox"), "-o", output},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(args, &stdout, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), "found nothing to import") || !strings.Contains(stderr.String(), name) {
			t.Errorf("%v: exit code %d\n%s", args, code, stderr.String())
		}
		if _, err := os.Stat(output); err == nil {
			t.Errorf("%v: an empty file was written", args)
		}
	}
}
