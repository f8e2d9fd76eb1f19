package vm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A disk keeps its content, grows, and never shrinks.
func TestSparse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	if err := sparse(path, 1<<20); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("kept"), 1<<20-4); err != nil {
		t.Fatal(err)
	}
	if err := sparse(path, 2<<20); err != nil {
		t.Fatal(err)
	}
	kept := make([]byte, 4)
	if _, err := file.ReadAt(kept, 1<<20-4); err != nil || string(kept) != "kept" {
		t.Errorf("%q, %v", kept, err)
	}
	if info, err := file.Stat(); err != nil || info.Size() != 2<<20 {
		t.Errorf("%v, %v", info, err)
	}
	if err := sparse(path, 1<<20); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a disk that has become smaller: %v", err)
	}
}

// A console is appended to, and has at most two files of bounded length.
func TestConsole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.log")
	for _, text := range []string{"one\n", "two\n"} {
		c, err := openConsole(path)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(path); string(text) != "one\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
	c, err := openConsole(path)
	if err != nil {
		t.Fatal(err)
	}
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 3 * maxConsole / len(chunk) {
		if _, err := c.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Size() > maxConsole {
			t.Errorf("%s has %d bytes, %v", f.Name(), info.Size(), err)
		}
	}
}

func TestLastLine(t *testing.T) {
	var l lastLine
	for _, part := range []string{"first\nsec", "ond\n\n"} {
		_, _ = l.Write([]byte(part))
	}
	if l.String() != "second" {
		t.Errorf("%q", l.String())
	}
	_, _ = l.Write(bytes.Repeat([]byte("y"), 10*maxLine))
	if len(l.String()) != maxLine {
		t.Errorf("%d bytes of a long line are kept", len(l.String()))
	}
	_, _ = l.Write([]byte("\nlast"))
	if l.String() != "last" {
		t.Errorf("%q", l.String())
	}
}
