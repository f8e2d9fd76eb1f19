package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Entry is a file or a directory of an archive.
type Entry struct {
	// Name is a path without a slash in front; that of a directory ends with one.
	Name string
	Mode fs.FileMode
	// Owner is user and group.
	Owner int
	// File is where the content is; without it, Content is.
	File    string
	Content []byte
}

// Write writes the entries and the directories above them.
func Write(w io.Writer, entries []Entry, at time.Time) error {
	out := tar.NewWriter(w)
	for _, e := range complete(entries) {
		if err := write(out, e, at); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return out.Close()
}

// Gzip writes the archive compressed.
func Gzip(w io.Writer, entries []Entry, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(Write(compressed, entries, at), compressed.Close())
}

// Folder returns the entries of a folder on disk, all of them, below a name.
func Folder(folder, name string) ([]Entry, error) {
	var entries []Entry
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		entries = append(entries, Entry{Name: path.Join(name, file), Mode: 0o644, File: folder + "/" + file})
		return nil
	})
	return entries, err
}

// complete sorts entries and adds the directories that they are in.
func complete(entries []Entry) []Entry {
	all := slices.Clone(entries)
	known := map[string]bool{}
	for _, e := range entries {
		known[e.Name] = true
	}
	for _, e := range entries {
		for dir := path.Dir(strings.TrimSuffix(e.Name, "/")); dir != "."; dir = path.Dir(dir) {
			if !known[dir+"/"] {
				known[dir+"/"] = true
				all = append(all, Entry{Name: dir + "/", Mode: 0o755})
			}
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func write(out *tar.Writer, e Entry, at time.Time) error {
	header := &tar.Header{Name: e.Name, Mode: int64(e.Mode.Perm()), Uid: e.Owner, Gid: e.Owner, ModTime: at.UTC().Truncate(time.Second), Format: tar.FormatUSTAR}
	if e.Mode&fs.ModeSticky != 0 {
		header.Mode |= 0o1000
	}
	if strings.HasSuffix(e.Name, "/") {
		header.Typeflag = tar.TypeDir
		return out.WriteHeader(header)
	}
	header.Typeflag = tar.TypeReg
	if e.File == "" {
		header.Size = int64(len(e.Content))
		err := out.WriteHeader(header)
		if err == nil {
			_, err = out.Write(e.Content)
		}
		return err
	}
	f, err := os.Open(e.File)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return err
}
