package standalone

import (
	"context"
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
	"github.com/farrier-dev/farrier/internal/program/version"
)

// storeDir is where the store is in a data directory. A backup has a snapshot of it.
const storeDir = "etcd"

// notKept are the parts of a data directory that a backup leaves out: caches, what is made anew at each start, and the audit log.
var notKept = []string{storeDir, "images", discoveryDir, vmDir, logbookDir, "audit", "pid", "version", restoredFile, controlplane.DefaultKubeconfig, controlplane.DefaultKubeconfig + ".pem"}

// Backup writes the data directory of a `farrier up` into a file, whether it runs or not.
func Backup(ctx context.Context, dataDir, file string, recipients []age.Recipient, now time.Time) error {
	if err := isDataDir(dataDir); err != nil {
		return err
	}
	header := backup.Header{Farrier: version.Of().Version, DataFormat: datadir.Version, Time: now.UTC()}
	err := backup.Write(file, header, recipients, func(w *backup.Writer) error {
		if err := controlplane.SnapshotStore(ctx, dataDir, func(snapshot io.Reader) error { return w.Store(snapshot) }); err != nil {
			return err
		}
		return keepFiles(dataDir, w)
	})
	if err != nil {
		return fmt.Errorf("backup %s: %w", file, err)
	}
	return nil
}

func isDataDir(dataDir string) error {
	if _, err := os.Stat(dataDir); err != nil {
		return fmt.Errorf("data directory %s (--data-dir): %w", dataDir, ownership.Explain(dataDir, err))
	}
	return datadir.Check(dataDir)
}

// keepFiles adds the files of a data directory.
func keepFiles(dataDir string, w *backup.Writer) error {
	return filepath.WalkDir(dataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dataDir {
			return err
		}
		local, err := filepath.Rel(dataDir, path)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(notKept, local), strings.HasPrefix(entry.Name(), "."): // a name with a dot is a draft of another
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		return w.File(dataDir, local)
	})
}
