package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/farrier-dev/farrier/internal/host/atomicfile"
	"github.com/farrier-dev/farrier/internal/host/ownership"
)

// Version is the format this build reads and writes. Raise it when older builds must not open the directory any more.
const Version = 1

// fileLimit bounds the small files read here; anything longer is not ours.
const fileLimit = 64

const (
	versionFile = "version"
	// unfinished is there while a backup is restored.
	unfinished = "restoring"
	holderFile = "pid"
)

// ErrInUse is wrapped by the error of Open when another process holds the directory.
var ErrInUse = errors.New("in use")

// ErrNewer is wrapped by the error of Open when the directory was written in a format this build does not know.
var ErrNewer = errors.New("of a newer version")

// Dir is a locked data directory.
type Dir struct {
	path string
	lock *os.File
}

// Open creates the directory when it is missing, locks it, and checks that its format is known and that it can be written to.
func Open(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory %s (--data-dir): %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("data directory %s (--data-dir) cannot be created: %w", abs, ownership.Explain(abs, err))
	}
	handle, err := os.Open(abs)
	if err != nil {
		return nil, fmt.Errorf("data directory %s (--data-dir) cannot be opened: %w", abs, ownership.Explain(abs, err))
	}
	d := &Dir{path: abs, lock: handle}
	if err := d.claim(); err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	return d, nil
}

// Lock locks a directory that is there, whatever is in it, and changes nothing.
func Lock(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory %s (--data-dir): %w", path, err)
	}
	handle, err := os.Open(abs)
	if err != nil {
		return nil, fmt.Errorf("data directory %s (--data-dir) cannot be opened: %w", abs, ownership.Explain(abs, err))
	}
	d := &Dir{path: abs, lock: handle}
	if err := d.hold(); err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	return d, nil
}

// Check refuses a directory that is no data directory of Farrier, of whatever format, or that cannot be read.
func Check(path string) error {
	file := filepath.Join(path, versionFile)
	content, err := readSmall(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data directory %s (--data-dir): %w", path, ownership.Explain(file, err))
	}
	if version, invalid := strconv.Atoi(content); err != nil || invalid != nil || version < 1 {
		return fmt.Errorf("data directory %s (--data-dir): farrier up has never run there", path)
	}
	return nil
}

// Unfinished says that what is in the directory is not whole, until Finished: nobody else opens it.
func (d *Dir) Unfinished() error {
	return WriteFile(d.Join(unfinished), []byte("a backup is being restored here\n"))
}

// Finished ends Unfinished.
func (d *Dir) Finished() error { return os.Remove(d.Join(unfinished)) }

func (d *Dir) hold() error {
	switch err := syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("data directory %s (--data-dir) is %w by %s", d.path, ErrInUse, d.holder())
	case err != nil:
		return fmt.Errorf("data directory %s (--data-dir) cannot be locked: %w", d.path, err)
	}
	return nil
}

// claim takes the lock first: only its holder may look at the rest.
func (d *Dir) claim() error {
	if err := d.hold(); err != nil {
		return err
	}
	if _, err := os.Lstat(d.Join(unfinished)); err == nil {
		return fmt.Errorf("data directory %s (--data-dir): the restore of a backup did not come to its end; 'farrier reset' empties the directory", d.path)
	}
	switch version, err := d.version(); {
	case err != nil:
		return err
	case version > Version: // before anything is changed: its owner may go on using it
		return fmt.Errorf("data directory %s (--data-dir) is %w: format %d, this farrier knows %d; use the newer farrier or another directory",
			d.path, ErrNewer, version, Version)
	}
	if err := ownership.Keep(d.lock); err != nil {
		return fmt.Errorf("data directory %s (--data-dir): %w", d.path, err)
	}
	for name, value := range map[string]int{holderFile: os.Getpid(), versionFile: Version} {
		if err := WriteFile(d.Join(name), []byte(strconv.Itoa(value)+"\n")); err != nil {
			return fmt.Errorf("data directory %s (--data-dir) is not writable: %w", d.path, ownership.Explain(d.path, err))
		}
	}
	return nil
}

// Private makes a directory inside that is for its owner only, or closes one that is there.
func (d *Dir) Private(name string) (string, error) {
	path := d.Join(name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", ownership.Explain(path, err)
	}
	handle, err := os.Open(path)
	if err != nil {
		return "", ownership.Explain(path, err)
	}
	if err := errors.Join(ownership.Keep(handle), handle.Close()); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return path, nil
}

// holder names the process that has the lock as well as it can be known.
func (d *Dir) holder() string {
	content, err := readSmall(d.Join(holderFile))
	pid, parseErr := strconv.Atoi(content)
	if err != nil || parseErr != nil {
		return "another process"
	}
	return fmt.Sprintf("another process (pid %d)", pid)
}

// version is the format of the directory's content; zero when it holds nothing yet.
func (d *Dir) version() (int, error) {
	content, err := readSmall(d.Join(versionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("data directory %s (--data-dir): %w", d.path, ownership.Explain(d.Join(versionFile), err))
	}
	version, err := strconv.Atoi(content)
	if err != nil || version < 1 {
		return 0, fmt.Errorf("data directory %s (--data-dir): %s holds %q, not a version number", d.path, d.Join(versionFile), content)
	}
	return version, nil
}

// Path is the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// Join is the path of something inside the directory.
func (d *Dir) Join(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Close gives the directory up.
func (d *Dir) Close() error { return d.lock.Close() }

// WriteFile replaces a file atomically and readable by its owner only, so that no crash leaves half a key and nobody else reads one. It returns
// when the file would survive a loss of power.
func WriteFile(path string, content []byte) error { return atomicfile.Write(path, content, 0o600) }

func readSmall(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, fileLimit))
	return strings.TrimSpace(string(content)), err
}
