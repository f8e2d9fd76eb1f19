package standalone

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
)

// Found is something in a data directory, and how large it is.
type Found struct {
	Path  string
	Bytes int64
}

// Reset deletes what is in a data directory that nobody uses, after agree has seen it. The directory itself stays.
func Reset(dataDir string, agree func([]Found) (bool, error)) (err error) {
	if err := isDataDir(dataDir); err != nil {
		return err
	}
	dir, err := datadir.Lock(dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	found, err := contents(dir.Path())
	if err != nil {
		return err
	}
	if yes, err := agree(found); err != nil || !yes {
		return err
	}
	// The version goes last: what is left of a reset that was interrupted is still known for what it is.
	version := dir.Join("version")
	for _, f := range found {
		if f.Path != version {
			err = errors.Join(err, os.RemoveAll(f.Path))
		}
	}
	if err != nil {
		return fmt.Errorf("data directory %s (--data-dir): %w", dataDir, err)
	}
	return os.Remove(version)
}

// contents are the entries of a directory.
func contents(dir string) ([]Found, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := make([]Found, 0, len(entries))
	for _, entry := range entries {
		f := Found{Path: filepath.Join(dir, entry.Name())}
		err := filepath.WalkDir(f.Path, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.Mode().IsRegular() {
				f.Bytes += info.Size()
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}
