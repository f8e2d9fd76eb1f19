package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/hack/release/source"
)

// TestCheck refuses a release, and names everything that is wrong at once.
func TestCheck(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("CHANGELOG.md", "## [Unreleased]\n\n## [0.1.0] - 2026-02-03\n\n- First.\n")
	write("charts/farrier/Chart.yaml", "version: 0.1.0\nappVersion: \"0.1.0\"\n")
	good := source.Source{Root: root, Version: "v0.1.0", Commit: "abc"}
	for _, version := range []string{"v0.1.0", "v0.1.0-rc.1"} {
		good.Version = version
		w := &work{Source: good}
		if err := w.check(t.Context()); err != nil || w.notes != "- First.\n" {
			t.Errorf("%s: %v, notes %q", version, err, w.notes)
		}
	}
	for version, parts := range map[string][]string{
		"v0.2.0": {"CHANGELOG.md: no section ## [0.2.0]", "Chart.yaml: version is 0.1.0, want 0.2.0", "Chart.yaml: appVersion is 0.1.0, want 0.2.0"},
		"0.1.0":  {"VERSION: "},
	} {
		w := &work{Source: source.Source{Root: root, Version: version, Dirty: true}}
		err := w.check(t.Context())
		for _, part := range append(parts, "not committed") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q", version, err, part)
			}
		}
		w.unreleased = true
		if err := w.check(t.Context()); err != nil {
			t.Errorf("%s, to try it: %v", version, err)
		}
	}
}

// TestClear removes an earlier release, and nothing else.
func TestClear(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "dist")
	if err := clear(folder); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "photos")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clear(folder); err == nil || !strings.HasPrefix(err.Error(), "--dist: ") {
		t.Errorf("a folder of somebody else: %v", err)
	}
	if err := sums(folder); err != nil {
		t.Fatal(err)
	}
	if err := clear(folder); err != nil {
		t.Errorf("a release: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("what an earlier release left is still there")
	}
}

// TestSums: sha256sum checks what is written.
func TestSums(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, imagesFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // also where the file is there already
		if err := sums(folder); err != nil {
			t.Fatal(err)
		}
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	text, err := os.ReadFile(filepath.Join(folder, sumsName))
	if want := empty + "  a\n" + empty + "  b\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
	if program, err := exec.LookPath("sha256sum"); err == nil {
		cmd := exec.CommandContext(t.Context(), program, "--check", sumsName)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sha256sum: %v\n%s", err, out)
		}
	}
}
