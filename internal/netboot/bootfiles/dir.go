package bootfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ErrNotFound is returned for what is no boot program: what is not there, and what no boot program is called.
var ErrNotFound = errors.New("no such boot program")

// Dir is a directory of boot programs: files in it, and in folders of it.
type Dir struct{ root *os.Root }

// Open opens a directory.
func Open(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("boot programs: %w", err)
	}
	return &Dir{root}, nil
}

// File opens a boot program by its path in the directory. Links are followed within it, as those of a ConfigMap that a pod mounts; os.Root refuses others.
// To open a pipe would wait for its other end.
func (d *Dir) File(path string) (*os.File, fs.FileInfo, error) {
	if !d.Has(path) {
		return nil, nil, ErrNotFound
	}
	f, err := d.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil, errors.Join(ErrNotFound, f.Close())
	}
	return f, info, nil
}

// Has reports whether there is a boot program.
func (d *Dir) Has(path string) bool {
	if !Allowed(path) {
		return false
	}
	info, err := d.root.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// First is the first of several paths that is there; empty: none is.
func (d *Dir) First(paths []string) string {
	for _, path := range paths {
		if d.Has(path) {
			return path
		}
	}
	return ""
}

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

// maxDepth is how many names a path may have: <arch>/<file>, and a folder more.
const maxDepth = 3

// Allowed reports whether a path is one of boot programs.
func Allowed(path string) bool {
	n := 0
	for name := range strings.SplitSeq(path, "/") {
		if n++; n > maxDepth || !Name(name) {
			return false
		}
	}
	return true
}

// Name allows what names boot programs in the field: snponly.efi, undionly.kpxe, x86_64. It does not begin with a
// dot, so it is neither hidden nor a way up.
func Name(s string) bool {
	const longest = 128
	if s == "" || len(s) > longest || s[0] == '.' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && strings.IndexByte("._-", c) < 0 {
			return false
		}
	}
	return true
}
