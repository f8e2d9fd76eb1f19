package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	// private is the mode of a directory that is for its owner only.
	private fs.FileMode = 0o700
	root    int         = 0
	// others are the bits of everybody who is not the owner.
	others fs.FileMode = 0o077
	// othersWrite is the bit that lets every user of the host replace what is in a directory.
	othersWrite fs.FileMode = 0o002
)

// Private checks a directory that others could have made before us, such as one below /tmp: it has to be a directory and no symbolic link,
// ours, and closed to everybody else. The error says what it is instead and what to do.
func Private(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner, me := ownerOf(info), os.Geteuid()
	remedy := fmt.Sprintf("somebody may have put it there to read what is in it; remove it (rm -r %s) or set TMPDIR to a directory of your own, and start again", path)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link of %s, and has to be a directory of %s: %s", path, Name(owner), Name(me), remedy)
	case !info.IsDir():
		return fmt.Errorf("%s of %s is no directory: %s", path, Name(owner), remedy)
	case owner != me:
		return fmt.Errorf("%s belongs to %s and not to %s, who runs this: %s", path, Name(owner), Name(me), remedy)
	case info.Mode().Perm() != private:
		return fmt.Errorf("%s of %s has mode %#o, and has to be closed to others (%#o): %s", path, Name(owner), info.Mode().Perm(), private, remedy)
	}
	return nil
}

// Keep makes an open directory that holds secrets ours alone. It closes one of our own to others, and refuses one of another user, who
// could replace what is in it. A directory of root is taken, as root can do that anyway, unless everybody can.
func Keep(dir *os.File) error {
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	owner, me := ownerOf(info), os.Geteuid()
	switch {
	case !info.IsDir():
		return errors.New("it is no directory")
	case owner == me:
		if info.Mode().Perm()&others == 0 {
			return nil
		}
		return dir.Chmod(info.Mode().Perm() &^ others)
	case owner != root:
		return fmt.Errorf("it belongs to %s, who could replace what is in it, and this process runs as %s: run it as the owner, or hand the directory over (chown -R %d %s)",
			Name(owner), Name(me), me, dir.Name())
	case info.Mode().Perm()&othersWrite != 0:
		return fmt.Errorf("it belongs to %s and everybody may write to it (mode %#o): use a directory of your own below it, or hand it over (chown -R %d %s)",
			Name(owner), info.Mode().Perm(), me, dir.Name())
	}
	return nil
}

// Explain adds to an error about a path what to do when it is about rights: whose the path is, and the command that hands it over. Other
// errors are returned as they are.
func Explain(path string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// The path itself may be hidden in a directory that is closed to us: then that is what is in the way.
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		info, statErr := os.Lstat(at)
		if statErr == nil {
			owner, me := ownerOf(info), os.Geteuid()
			if owner == me {
				return err
			}
			return fmt.Errorf("%w: %s belongs to %s and this runs as %s: run it as the owner (for root: with sudo), or hand it over (sudo chown -R %d %s)",
				err, at, Name(owner), Name(me), me, at)
		}
		if at == filepath.Dir(at) {
			return err
		}
	}
}

// ownerOf is the number of the user that a file belongs to, or -1 on a system that has none.
func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// Name is a user for people: the name where the system knows one, and the number.
func Name(uid int) string {
	if known, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (uid %d)", known.Username, uid)
	}
	return fmt.Sprintf("uid %d", uid)
}
