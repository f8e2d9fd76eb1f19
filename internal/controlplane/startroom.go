package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/farrier-dev/farrier/internal/controlplane/diskguard"
	"github.com/farrier-dev/farrier/internal/host/diskspace"
)

// roomToStart refuses a data directory on a disk without the room that a start needs, before anything is written.
func roomToStart(dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("data directory %s (--data-dir): %w", dir, err)
	}
	needed := diskguard.NeededToStart(filepath.Join(path, etcdDir))
	there := path
	for { // the directory may be yet to be made
		if _, err := os.Stat(there); err == nil || there == filepath.Dir(there) {
			break
		}
		there = filepath.Dir(there)
	}
	left, err := diskspace.Of(there)
	if err != nil || left.Bytes >= needed && left.Files >= diskguard.LowFiles { // a disk that cannot be asked is not known to be full
		return nil
	}
	if left.Files < diskguard.LowFiles {
		return fmt.Errorf("data directory %s (--data-dir): its disk has room for %d more files, and Farrier starts with %d", path, left.Files, diskguard.LowFiles)
	}
	return fmt.Errorf("data directory %s (--data-dir): its disk is full: %d MiB are left, and Farrier starts with %d MiB", path, left.Bytes>>20, needed>>20)
}

// Room is why nothing can be stored: the disk of the data directory is full; nil: it is not.
func (s *Server) Room() error { return s.store.guard.Err() }

// Disk is what is left of the disk of the data directory.
func (s *Server) Disk() diskspace.Space { return s.store.guard.Left() }
