package bootfiles

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestNothingOutsideOfTheDirectory(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "programs")
	for path, content := range map[string]string{"programs/undionly.kpxe": "bios", "programs/x86_64/snponly.efi": "efi", "secret": "secret", "programs/.hidden": "hidden"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "up")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for path, want := range map[string]string{"undionly.kpxe": "bios", "x86_64/snponly.efi": "efi"} {
		f, info, err := d.File(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != want || info.Size() != int64(len(want)) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
		_ = f.Close()
	}
	for _, path := range []string{"", ".", "..", "../secret", "/secret", "x86_64/../../secret", "x86_64", "link", "up/secret", "pipe", ".hidden", "x86_64//snponly.efi", "a/b/c/d", `..\secret`, "undionly.kpxe/", "undionly.kpxe\x00"} {
		if _, _, err := d.File(path); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if got := d.First([]string{"ipxe.efi", "x86_64/snponly.efi", "undionly.kpxe"}); got != "x86_64/snponly.efi" {
		t.Errorf("first: %q", got)
	}
	if _, err := Open(filepath.Join(top, "none")); err == nil {
		t.Error("a directory that there is not")
	}
}

// TestAMountedConfigMap: a pod sees the files of a ConfigMap as links to files in a hidden folder.
func TestAMountedConfigMap(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "..2026"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "..2026", "snponly.efi"), []byte("efi"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"..data": "..2026", "snponly.efi": "..data/snponly.efi"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	f, info, err := d.File("snponly.efi")
	if err != nil || info.Size() != 3 {
		t.Fatalf("%v, %v", info, err)
	}
	_ = f.Close()
	if _, _, err := d.File("..data/snponly.efi"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a hidden folder: %v", err)
	}
}
