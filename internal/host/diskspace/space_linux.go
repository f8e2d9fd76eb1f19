package diskspace

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// keepSize is FALLOC_FL_KEEP_SIZE (fallocate(2)): blocks beyond the end of a file belong to it, and its size stays.
const keepSize = 1

// Of returns what is left of the file system of a path.
func Of(path string) (Space, error) {
	var s syscall.Statfs_t
	if err := retry(func() error { return syscall.Statfs(path, &s) }); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	space := Space{Bytes: s.Bavail * uint64(s.Bsize), Files: s.Ffree}
	if s.Files == 0 { // btrfs and others make room for inodes as they need it
		space.Files = Unlimited
	}
	return space, nil
}

// Reserve has a range of a file backed by the disk, also behind the end of the file. What the file holds stays.
func Reserve(f *os.File, from, length int64) error {
	if length <= 0 {
		return nil
	}
	err := retry(func() error { return syscall.Fallocate(int(f.Fd()), keepSize, from, length) })
	switch {
	case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
		return fmt.Errorf("reserve room for %s: %w", f.Name(), ErrUnsupported)
	case err != nil:
		return &os.PathError{Op: "reserve room for", Path: f.Name(), Err: err}
	}
	return nil
}

// retry repeats a call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
