package standalone

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/farrier-dev/farrier/internal/backup"
	"github.com/farrier-dev/farrier/internal/controlplane"
	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/host/ownership"
)

// CheckBackup reads a whole backup and says of when it is.
func CheckBackup(file string, identities []age.Identity) (backup.Header, error) {
	r := &restoring{}
	err := backup.Read(file, identities, r)
	return r.header, err
}

// Restore makes a data directory, which must be empty or missing, of a backup. When it fails, the directory is as it was. With park the first
// start parks all servers.
func Restore(file string, identities []age.Identity, dataDir string, park bool) (header backup.Header, err error) {
	was, err := emptyDir(dataDir)
	if err != nil {
		return header, err
	}
	if _, err := os.Stat(file); err != nil { // before anything is made
		return header, err
	}
	dir, err := datadir.Open(dataDir)
	if err != nil {
		return header, err
	}
	defer func() {
		err = errors.Join(err, dir.Close())
		if err != nil {
			err = errors.Join(err, emptyAgain(dataDir, was))
		}
	}()
	if err := dir.Unfinished(); err != nil {
		return header, fmt.Errorf("data directory %s (--data-dir): %w", dataDir, err)
	}
	r := &restoring{dir: dir}
	if err := r.restore(file, identities); err != nil {
		return r.header, err
	}
	if park {
		if err := datadir.WriteFile(dir.Join(restoredFile), []byte(r.header.Time.Format(time.RFC3339))); err != nil {
			return r.header, err
		}
	}
	return r.header, dir.Finished()
}

// emptyDir reports whether a directory is there, and refuses one that has something in it.
func emptyDir(dataDir string) (there bool, err error) {
	entries, err := os.ReadDir(dataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return true, fmt.Errorf("data directory %s (--data-dir): %w", dataDir, ownership.Explain(dataDir, err))
	case len(entries) > 0:
		return true, fmt.Errorf("data directory %s (--data-dir) is not empty: restore into another, or empty it with 'farrier reset'", dataDir)
	}
	return true, nil
}

// emptyAgain removes what a restore that failed has made.
func emptyAgain(dataDir string, was bool) error {
	if !was {
		return os.RemoveAll(dataDir)
	}
	entries, err := os.ReadDir(dataDir)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dataDir, entry.Name())))
	}
	return err
}

// restoring takes a backup. Without a directory it only looks.
type restoring struct {
	dir      *datadir.Dir
	header   backup.Header
	snapshot *os.File
}

func (r *restoring) restore(file string, identities []age.Identity) (err error) {
	if r.snapshot, err = os.CreateTemp(r.dir.Path(), ".snapshot.*"); err != nil {
		return err
	}
	name := r.snapshot.Name()
	if err := errors.Join(backup.Read(file, identities, r), r.snapshot.Sync(), r.snapshot.Close()); err != nil {
		return err
	}
	if err := controlplane.RestoreStore(name, r.dir.Path()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.Remove(name)
}

// Header implements backup.Sink.
func (r *restoring) Header(h backup.Header) error {
	r.header = h
	if h.DataFormat > datadir.Version {
		return fmt.Errorf("has a data directory %w: format %d, this farrier knows %d", backup.ErrNewer, h.DataFormat, datadir.Version)
	}
	return nil
}

// Store implements backup.Sink.
func (r *restoring) Store(piece []byte) error {
	if r.dir == nil {
		return nil
	}
	_, err := r.snapshot.Write(piece)
	return err
}

// File implements backup.Sink.
func (r *restoring) File(path string, mode fs.FileMode, content io.Reader) error {
	if r.dir == nil {
		_, err := io.Copy(io.Discard, content)
		return err
	}
	if slices.Contains(notKept, strings.Split(path, string(filepath.Separator))[0]) {
		return fmt.Errorf("is %w: a backup has no %s", backup.ErrDamaged, path)
	}
	full := r.dir.Join(path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(full, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode&0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Sync(), f.Close())
}
