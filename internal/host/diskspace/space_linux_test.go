package diskspace

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReserveBacksAFileBehindItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Reserve(f, 0, 1<<20); errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != 7 {
		t.Errorf("the file has %d bytes, had 7", info.Size())
	}
	if blocks := info.Sys().(*syscall.Stat_t).Blocks * 512; blocks < 1<<20 {
		t.Errorf("%d bytes are reserved, want a MiB", blocks)
	}
	if content, err := os.ReadFile(path); string(content) != "content" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestOfNamesThePathThatItCannotAsk(t *testing.T) {
	if space, err := Of(t.TempDir()); err != nil || space.Bytes == 0 || space.Files == 0 {
		t.Errorf("%+v, %v", space, err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	var path *os.PathError
	if _, err := Of(missing); !errors.As(err, &path) || path.Path != missing {
		t.Errorf("%v, want one that names %s", err, missing)
	}
}
