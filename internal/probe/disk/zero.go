package disk

import (
	"bytes"
	"context"
	"fmt"
)

const (
	writeChunk = 4 << 20
	// commandChunk is what one command deallocates or zeros: small enough to hear of a
	// cancelled context within seconds.
	commandChunk = 1 << 30
	// syncEvery bounds what is lost in a cache when a write fails late.
	syncEvery = 1 << 30
)

// zeroBlock is read by everybody and written by nobody.
var zeroBlock [writeChunk]byte

// command runs a command of the device over all of it, a chunk at a time.
func (s *session) command(ctx context.Context, run func(offset, length int64) error) error {
	size := s.dev.Size()
	for at := int64(0); at < size; at += commandChunk {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := run(at, min(commandChunk, size-at)); err != nil {
			return fmt.Errorf("at byte %d: %w", at, err)
		}
		s.progress(at, size)
	}
	return s.dev.Sync()
}

// overwrite writes zeros over all of the disk.
func (s *session) overwrite(ctx context.Context) error {
	size := s.dev.Size()
	for at := int64(0); at < size; at += syncEvery {
		if err := s.writeZeros(ctx, Extent{at, min(syncEvery, size-at)}); err != nil {
			return err
		}
		if err := s.dev.Sync(); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
		s.progress(at, size)
	}
	return nil
}

func (s *session) writeZeros(ctx context.Context, e Extent) error {
	for at := e.Offset; at < e.end(); at += writeChunk {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if _, err := s.dev.WriteAt(zeroBlock[:min(writeChunk, e.end()-at)], at); err != nil {
			return fmt.Errorf("write at byte %d: %w", at, err)
		}
	}
	return nil
}

// expectZeros reads a range back.
func (s *session) expectZeros(ctx context.Context, e Extent) error {
	buf := make([]byte, min(writeChunk, e.Length))
	for at := e.Offset; at < e.end(); at += writeChunk {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		part := buf[:min(writeChunk, e.end()-at)]
		if err := readFull(s.dev, part, at); err != nil {
			return err
		}
		if !isZero(part) {
			return fmt.Errorf("read back at byte %d: not zero", at)
		}
	}
	return nil
}

func isZero(b []byte) bool { return bytes.Count(b, zeroBlock[:1]) == len(b) }

// readFull is ReadAt that does not mind an io.EOF at the very end.
func readFull(dev Device, b []byte, at int64) error {
	n, err := dev.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	return fmt.Errorf("read at byte %d: %w", at+int64(n), err)
}
