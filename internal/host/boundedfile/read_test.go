package boundedfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, content string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBothRead: files up to the limit, and say of others which file it is.
func TestBothRead(t *testing.T) {
	for name, read := range map[string]func(string, int64) ([]byte, error){"Read": Read, "ReadKey": ReadKey} {
		path := write(t, "12345", 0o600)
		if got, err := read(path, 5); err != nil || string(got) != "12345" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := read(path, 4); err == nil || !strings.Contains(err.Error(), path+": larger than 4 bytes") {
			t.Errorf("%s above the limit: %q, %v", name, got, err)
		}
		for _, path := range []string{path + "-missing", filepath.Dir(path)} {
			if _, err := read(path, 5); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s of %s: %v", name, path, err)
			}
		}
	}
}

// TestKeysAreClosedToOthers: other files need not be.
func TestKeysAreClosedToOthers(t *testing.T) {
	path := write(t, "key", 0o604)
	if _, err := ReadKey(path, 9); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
		t.Errorf("a key that everybody may read: %v", err)
	}
	if _, err := Read(path, 9); err != nil {
		t.Error(err)
	}
}

// TestAKeyIsNoPipe: nobody waits for one who writes it.
func TestAKeyIsNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(path, 9); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
}
