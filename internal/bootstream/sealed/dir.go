package sealed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/farrier-dev/farrier/internal/host/ownership"
)

// File is what a log needs of a file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// Dir is a directory that this process alone uses.
type Dir struct {
	path   string
	handle *os.File
	sync   func() error
	// Wrap, where it is set, stands between logs and their files: tests have disks that are full or broken.
	Wrap func(File) File
}

// OpenDir makes the directory if it is missing, closes it to others, and locks it. The kernel drops the lock when the process ends.
func OpenDir(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, ownership.Explain(abs, err)
	}
	handle, err := os.Open(abs)
	if err != nil {
		return nil, ownership.Explain(abs, err)
	}
	switch err := syscall.Flock(int(handle.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(fmt.Errorf("%s is %w by another process", abs, ErrInUse), handle.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w", abs, err), handle.Close())
	}
	if err := ownership.Keep(handle); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", abs, err), handle.Close())
	}
	return &Dir{path: abs, handle: handle, sync: handle.Sync}, nil
}

// Close lets other processes use the directory.
func (d *Dir) Close() error { return d.handle.Close() }

func (d *Dir) join(name string) string { return filepath.Join(d.path, name) }

// open opens a file of ours alone. What is there and is a link, or open to others, was not written by us.
func (d *Dir) open(name string, flag int) (File, int64, error) {
	path := d.join(name)
	file, err := os.OpenFile(path, flag|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, ownership.Explain(path, err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, 0, errors.Join(err, file.Close())
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return nil, 0, errors.Join(fmt.Errorf("%s has mode %v and has to be a file that is closed to others (chmod 600): %w", path, info.Mode(), fs.ErrPermission), file.Close())
	}
	if d.Wrap != nil {
		return d.Wrap(file), info.Size(), nil
	}
	return file, info.Size(), nil
}
