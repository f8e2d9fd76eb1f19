package blobcache

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// follower reads a download as it comes. It implements io.ReadSeeker for
// http.ServeContent.
type follower struct {
	ctx      context.Context
	download *download
	offset   int64
	// begun: bytes of a generation have been handed out.
	begun      bool
	generation int
}

// Read waits for bytes that are not there yet.
func (f *follower) Read(p []byte) (int, error) {
	if f.offset >= f.download.size {
		return 0, io.EOF
	}
	for {
		n, generation, err := f.download.await(f.ctx, f.offset)
		if err != nil {
			return 0, err
		}
		if f.begun && generation != f.generation {
			return 0, fmt.Errorf("%w: blob %s is fetched again", registry.ErrCorrupt, f.download.digest)
		}
		read, err := f.download.file.ReadAt(p[:min(int64(len(p)), n-f.offset)], f.offset)
		// Started over meanwhile: what was read may be of either.
		if _, now, _, _ := f.download.readable(); now != generation {
			continue
		}
		f.begun, f.generation = true, generation
		f.offset += int64(read)
		return read, err
	}
}

// Seek never waits.
func (f *follower) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.download.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek to %d: %w", offset, os.ErrInvalid)
	}
	f.offset = offset
	return offset, nil
}
