package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var moment = time.Date(2026, 2, 3, 4, 5, 6, 7, time.FixedZone("", 3600))

// TestWrite: directories that nobody names are there, entries are sorted, and an archive depends neither on the order of entries nor on the times of files.
func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries := []Entry{
		{Name: "usr/bin/program", Mode: 0o755, File: file},
		{Name: "tmp/", Mode: 0o777 | fs.ModeSticky},
		{Name: "etc/passwd", Mode: 0o644, Content: []byte("root")},
		{Name: "home/", Mode: 0o700, Owner: 65532},
	}
	var one, other bytes.Buffer
	if err := Gzip(&one, entries, moment); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(entries)
	if err := os.Chtimes(file, moment, moment.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := Gzip(&other, entries, moment); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), other.Bytes()) {
		t.Error("the same content gave two archives")
	}
	type row struct {
		Name    string
		Mode    int64
		Owner   int
		Content string
	}
	want := []row{
		{"etc/", 0o755, 0, ""}, {"etc/passwd", 0o644, 0, "root"}, {"home/", 0o700, 65532, ""}, {"tmp/", 0o1777, 0, ""},
		{"usr/", 0o755, 0, ""}, {"usr/bin/", 0o755, 0, ""}, {"usr/bin/program", 0o755, 0, "from a file"},
	}
	var got []row
	plain, err := gzip.NewReader(&one)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(moment.Truncate(time.Second)) {
			t.Errorf("%s is of %s", h.Name, h.ModTime)
		}
		got = append(got, row{h.Name, h.Mode, h.Uid, string(content)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFolder: what is in a folder is in the archive, below its name.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "blobs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.json", "blobs/a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := Folder(dir, "layout")
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{Name: "layout/blobs/a", Mode: 0o644, File: dir + "/blobs/a"}, {Name: "layout/index.json", Mode: 0o644, File: dir + "/index.json"}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Error(diff)
	}
}
