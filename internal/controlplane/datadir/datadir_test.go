package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenCreatesAPrivateDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	dir, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode %o, want 700", info.Mode().Perm())
	}
	if content, err := os.ReadFile(dir.Join("version")); string(content) != fmt.Sprintln(Version) {
		t.Errorf("version file %q (%v), want %d", content, err, Version)
	}
}

func TestSecondOpenSaysWhoHoldsTheDirectory(t *testing.T) {
	path := t.TempDir()
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(path)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) || !strings.Contains(err.Error(), path) {
		t.Errorf("second Open: %v, want in use, with directory and pid", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	again.Close()
}

func TestVersion(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    string // part of the error; empty: accepted
	}{
		"ours":       {content: fmt.Sprintln(Version)},
		"no newline": {content: fmt.Sprint(Version)},
		"newer":      {content: fmt.Sprintln(Version + 1), want: "of a newer version"},
		"empty":      {content: "", want: "not a version number"},
		"zero":       {content: "0\n", want: "not a version number"},
		"text":       {content: "one\n", want: "not a version number"},
		"too long":   {content: strings.Repeat("9", 1<<10), want: "not a version number"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			if err := os.WriteFile(filepath.Join(path, "version"), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			dir, err := Open(path)
			if err == nil {
				defer dir.Close()
			}
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Fatalf("%v, want %q and the directory", err, c.want)
			}
			if entries, _ := os.ReadDir(path); len(entries) != 1 {
				t.Errorf("the refused directory was touched: %v", entries)
			}
		})
	}
}

func TestUnusableDirectoryIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "--data-dir") {
			t.Errorf("Open(%s): %v, want an error that names directory and flag", path, err)
		}
	}
}

func TestWriteFileReplacesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("after")); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil || string(content) != "after" {
		t.Errorf("%q, %v", content, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want 600", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("a temporary file stayed: %v", entries)
	}
	if err := WriteFile(filepath.Join(path, "below"), nil); err == nil {
		t.Error("writing below a file succeeded")
	}
}

func TestOpenClosesTheDirectoryToOthers(t *testing.T) {
	path := t.TempDir()
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(path, "pki"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	inside, err := dir.Private("pki")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, inside} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v (%v), want 700", p, info.Mode(), err)
		}
	}
}

func TestDirectoryOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	path := t.TempDir()
	if err := os.Chown(path, 54321, -1); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	if err == nil {
		t.Fatal("opened")
	}
	for _, part := range []string{path, "--data-dir", "uid 54321", "chown -R 0 " + path} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if entries, _ := os.ReadDir(path); len(entries) != 0 {
		t.Errorf("the refused directory was touched: %v", entries)
	}
}

func TestCheckKnowsADataDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := Check(dir); err == nil || !strings.Contains(err.Error(), "never run") || !strings.Contains(err.Error(), dir) {
		t.Errorf("an empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "version"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(dir); err == nil || !strings.Contains(err.Error(), "never run") {
		t.Errorf("somebody else's: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "version"), []byte(fmt.Sprintln(Version+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(dir); err != nil {
		t.Errorf("that of a newer version: %v", err)
	}
	if os.Geteuid() == 0 {
		return // root reads everything
	}
	if err := os.Chmod(filepath.Join(dir, "version"), 0); err != nil {
		t.Fatal(err)
	}
	if err := Check(dir); !errors.Is(err, os.ErrPermission) {
		t.Errorf("one that cannot be read: %v", err)
	}
}

// TestLockLocksAndChangesNothing: who has locked a directory keeps others out, and has not touched it.
func TestLockLocksAndChangesNothing(t *testing.T) {
	path := t.TempDir()
	dir, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrInUse) {
		t.Errorf("opened beside: %v", err)
	}
	if _, err := Lock(path); !errors.Is(err, ErrInUse) {
		t.Errorf("locked twice: %v", err)
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(filepath.Join(path, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is missing: %v", err)
	}
}

// TestAnUnfinishedDirectoryIsNotOpened: what a restore has left half is not taken for the whole.
func TestAnUnfinishedDirectoryIsNotOpened(t *testing.T) {
	path := t.TempDir()
	dir, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dir.Unfinished(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "farrier reset") || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, want how to go on", err)
	}
	if dir, err = Lock(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dir.Finished(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	if dir, err = Open(path); err != nil {
		t.Fatal(err)
	}
	dir.Close()
}
