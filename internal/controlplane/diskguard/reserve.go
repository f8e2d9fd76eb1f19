package diskguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/farrier-dev/farrier/internal/host/diskspace"
)

const (
	// SegmentSize is the size of a file of the write-ahead log. It is larger than what is in flight, so that a file and its successor hold it.
	SegmentSize = 16 << 20
	// headroom is kept behind the end of the database. A write of etcd changes more pages than it has bytes; they are at most a few each.
	headroom = 4 * InFlight

	spareDraft = "farrier.tmp" // etcd passes over names that end so
)

// spares are the files that etcd's log takes as its next one, by turns (storage/wal/file_pipeline.go): what is there already it does not make.
var spares = []string{"0.tmp", "1.tmp"}

// Reserve is the room that belongs to the store before it needs it.
type Reserve struct {
	// Dir is etcd's directory. Size is how many bytes of its database are in use or have been.
	Dir  string
	Size func() int64

	tail     string // the file of the log whose end is covered
	database os.FileInfo
	covered  int64 // the bytes of the database that are reserved
	// unsupported: the file system reserves nothing, and LowMark alone has to do.
	unsupported bool
}

// NeededToStart is how much room the disk must have for a store to start in a directory, beyond what is in it already.
func NeededToStart(dir string) uint64 {
	needed := uint64(LowMark)
	wal := filepath.Join(dir, "member", "wal")
	if _, err := os.Stat(wal); err != nil {
		needed += SegmentSize + headroom + InFlight
	}
	for _, name := range spares {
		if _, err := os.Stat(filepath.Join(wal, name)); err != nil {
			needed += SegmentSize
		}
	}
	return needed
}

// Complete takes what is missing of the reserve. It costs some microseconds when nothing is.
func (r *Reserve) Complete() error {
	if r.unsupported {
		return nil
	}
	wal := filepath.Join(r.Dir, "member", "wal")
	err := errors.Join(r.coverTail(wal), r.makeSpares(wal), r.coverDatabase(filepath.Join(r.Dir, "member", "snap", "db")))
	if errors.Is(err, diskspace.ErrUnsupported) {
		r.unsupported = true
		return nil
	}
	return err
}

// coverTail reserves room behind the newest file of the log: what is in flight when the file is full is still written to it.
func (r *Reserve) coverTail(wal string) error {
	entries, err := os.ReadDir(wal) // sorted: the newest is the last
	if err != nil {
		return err
	}
	tail := ""
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".wal") {
			tail = entry.Name()
		}
	}
	if tail == "" || tail == r.tail {
		return nil
	}
	err = change(filepath.Join(wal, tail), os.O_WRONLY, func(f *os.File) error { return diskspace.Reserve(f, 0, SegmentSize+InFlight) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil // etcd has removed it meanwhile, and begun another
	}
	if err == nil {
		r.tail = tail
	}
	return err
}

// makeSpares makes those files that are missing. It links them into place, so that it never touches one that etcd has made itself.
func (r *Reserve) makeSpares(wal string) error {
	for _, name := range spares {
		path, draft := filepath.Join(wal, name), filepath.Join(wal, spareDraft)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		err := change(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, func(f *os.File) error {
			return errors.Join(diskspace.Reserve(f, 0, SegmentSize), f.Truncate(SegmentSize))
		})
		if err == nil {
			err = os.Link(draft, path)
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		if err = errors.Join(err, os.Remove(draft)); err != nil {
			return err
		}
	}
	return nil
}

// coverDatabase reserves room up to headroom behind what the database has in use. etcd makes the file longer without taking room for it.
func (r *Reserve) coverDatabase(path string) error {
	want := r.Size() + headroom
	return change(path, os.O_WRONLY, func(f *os.File) error {
		now, err := f.Stat()
		if err != nil {
			return err
		}
		if r.database == nil || !os.SameFile(r.database, now) {
			r.database, r.covered = now, 0 // another file since a defragmentation
		}
		if want-r.covered < headroom/4 {
			return nil
		}
		if err := diskspace.Reserve(f, r.covered, want-r.covered); err != nil {
			return err
		}
		r.covered = want
		return nil
	})
}

// change opens a file for as long as it takes. Closing it does not give up etcd's locks, which belong to etcd's own descriptions of the file.
func change(path string, flags int, do func(*os.File) error) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return fmt.Errorf("reserve room for the store: %w", err)
	}
	if err := errors.Join(do(f), f.Close()); err != nil {
		return fmt.Errorf("reserve room for the store: %w", err)
	}
	return nil
}
