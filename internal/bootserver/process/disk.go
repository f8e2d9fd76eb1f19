package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootstream/viewfile"
)

// streamDir is the folder of the data directory for the last view and the outbox.
const streamDir = "stream"

// disk is what is kept between runs: nothing without a key. It implements bootstream.Keeper.
type disk struct {
	dir    *sealed.Dir // nil: nothing is kept
	key    sealed.Key
	logger logr.Logger
	// file is nil where there was no room for it at the start; Append tries again.
	file *viewfile.File
	// lost says why the view of the last run is not used.
	lost string
}

// openDisk opens what the last run has kept. What is damaged is not used, and said; another key is an error, for the right one can still read it.
func openDisk(o *Options, logger logr.Logger) (*disk, bootstream.Kept, error) {
	d := &disk{logger: logger}
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return d, bootstream.Kept{}, fmt.Errorf("--data-dir: %w", err)
	}
	if o.ViewKeyFile == "" {
		return d, bootstream.Kept{}, nil
	}
	var err error
	if d.key, err = sealed.ReadKey(o.ViewKeyFile); err != nil {
		return d, bootstream.Kept{}, err // names the flag
	}
	if d.dir, err = sealed.OpenDir(filepath.Join(o.DataDir, streamDir)); err != nil {
		return d, bootstream.Kept{}, fmt.Errorf("--data-dir: %w", err)
	}
	d.dir.Wrap = o.wrap
	kept, err := d.open()
	if err != nil {
		err = errors.Join(fmt.Errorf("--data-dir: %w", err), d.close())
	}
	return d, kept, err
}

func (d *disk) open() (kept bootstream.Kept, err error) {
	d.file, kept, err = viewfile.Open(d.dir, d.key, d.logger)
	damage, otherKey, version := (*sealed.DamageError)(nil), (*sealed.KeyError)(nil), (*sealed.VersionError)(nil)
	switch {
	case err == nil, errors.As(err, &otherKey):
		return kept, err
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &damage), errors.As(err, &version):
		d.lost = "the view of the last run is not used: " + err.Error()
		d.logger.Error(err, "last view not used, waiting for a manager to send the view")
	default:
		return kept, err
	}
	if err = d.create(); err != nil {
		full := (*sealed.WriteError)(nil)
		if errors.As(err, &full) && full.Full() {
			d.logger.Error(err, "boot view not kept on disk")
			return bootstream.Kept{}, nil
		}
	}
	return bootstream.Kept{}, err
}

func (d *disk) create() (err error) {
	d.file, err = viewfile.Create(d.dir, d.key, d.logger)
	return err
}

// keeper is d where something is kept.
func (d *disk) keeper() bootstream.Keeper {
	if d.dir == nil {
		return nil
	}
	return d
}

// Append implements bootstream.Keeper.
func (d *disk) Append(records []*streampb.Record, progress *bootstream.Progress) error {
	if d.file == nil {
		if err := d.create(); err != nil {
			return err
		}
	}
	return d.file.Append(records, progress)
}

func (d *disk) close() error {
	var errs []error
	if d.file != nil {
		errs = append(errs, d.file.Close())
	}
	if d.dir != nil {
		errs = append(errs, d.dir.Close())
	}
	return errors.Join(errs...)
}

// keep writes what waits for a manager until ctx ends.
func (p *process) keep(ctx context.Context) error {
	p.outbox.Run(ctx)
	return nil
}
