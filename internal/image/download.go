package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// download is one blob on its way from a registry to the store, with any
// number of clients reading it meanwhile. It belongs to nobody's request: it
// goes on when a client hangs up, because the client will be back.
type download struct {
	ref    Reference
	digest string
	client *auth.Client
	// private: a pull secret opens it.
	private bool
	// started is closed when size and file are set and reading may begin, or
	// when it failed before that.
	started chan struct{}
	size    int64
	file    *os.File

	mu      sync.Mutex
	written int64 // only run changes it
	done    bool  // verified and stored; or failed with err
	err     error
	changed chan struct{} // closed at the next change, nil while nobody waits
	users   int           // readers, and run
	release func()        // lets the store evict the blob
}

const (
	// maxResumes is how often in a row a download may break off without having
	// brought a byte.
	maxResumes  = 3
	resumePause = 500 * time.Millisecond
	copyBuffer  = 256 << 10
)

func newDownload(ref Reference, digest string, client *auth.Client) *download {
	return &download{ref: ref, digest: digest, client: client, started: make(chan struct{}), users: 1}
}

// run downloads, verifies and stores the blob.
func (d *download) run(ctx context.Context, b *Blobs) {
	defer d.leave()
	err := d.fetch(ctx, b)
	var release func()
	if err == nil {
		release, err = b.store.commit(d.file, d.digest, d.size, d.private, b.opts.Clock.Now())
	}
	if err != nil {
		b.opts.Logger.Info("blob could not be downloaded", "image", d.ref.Name(), "digest", d.digest, "error", err.Error())
		if d.file != nil {
			b.store.discard(d.file, d.size)
		}
	}
	// Before anybody hears of a failure: who tries again gets a new download.
	b.forget(d)
	d.finish(release, err)
}

// fetch writes the blob to a file and verifies it. It takes the blob up again
// where it broke off, as long as that brings it forward.
func (d *download) fetch(ctx context.Context, b *Blobs) error {
	select {
	case b.downloading <- struct{}{}:
		defer func() { <-b.downloading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	sum := sha256.New()
	for failures := 0; ; {
		before := d.written
		err := d.attempt(ctx, b, sum)
		if err == nil {
			break
		}
		if failures++; d.written > before {
			failures = 1
		}
		if d.file == nil || !resumable(err) || failures > maxResumes {
			return err
		}
		b.opts.Logger.V(1).Info("download broke off", "image", d.ref.Name(), "digest", d.digest, "at", d.written, "error", err.Error())
		if err := pause(ctx, b, failures-1); err != nil {
			return err
		}
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != d.digest {
		return fmt.Errorf("%w: blob %s of %s has %s", ErrCorrupt, d.digest, d.ref.Name(), got)
	}
	return nil
}

// resumable reports whether a failure is one of the way, not of the blob or
// of our disk.
func resumable(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
}

// pause waits before another attempt, not at all before the first: connections
// break, and storage URLs expire, without anything being wrong.
func pause(ctx context.Context, b *Blobs, failures int) error {
	if failures == 0 {
		return nil
	}
	select {
	case <-b.opts.Clock.After(resumePause << failures):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// attempt makes one request for what is missing.
func (d *download) attempt(ctx context.Context, b *Blobs, sum hash.Hash) error {
	guarded, wrap, stop := guardStalls(ctx, b.opts.Timeout)
	defer stop()
	body, size, err := b.upstream.blob(guarded, d.client, d.ref, d.digest, d.written, d.size)
	if err == nil {
		defer body.Close()
		switch {
		case d.file == nil:
			err = d.start(b, size)
		case size != d.size:
			err = fmt.Errorf("%w: blob %s of %s had %d bytes and now has %d", ErrCorrupt, d.digest, d.ref.Name(), d.size, size)
		}
		if err == nil {
			err = d.copy(wrap(body), sum)
		}
	}
	if err != nil && guarded.Err() != nil {
		return context.Cause(guarded)
	}
	return err
}

// start opens the download to readers.
func (d *download) start(b *Blobs, size int64) error {
	file, err := b.store.create(size)
	if err != nil {
		return err
	}
	d.size, d.file = size, file
	close(d.started)
	return nil
}

// copy appends to the file, hashes what it appends, and tells readers.
func (d *download) copy(body io.Reader, sum hash.Hash) error {
	buffer := make([]byte, copyBuffer)
	for d.written < d.size {
		n, err := body.Read(buffer[:min(copyBuffer, d.size-d.written)])
		if n > 0 {
			if _, err := d.file.WriteAt(buffer[:n], d.written); err != nil {
				return fmt.Errorf("image cache: %w", err)
			}
			sum.Write(buffer[:n])
			d.progress(int64(n))
		}
		if err != nil && d.written < d.size {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return callError(err)
		}
	}
	return nil
}

func (d *download) progress(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written += n
	d.signal()
}

// finish ends the download for its readers. Once it is done without error,
// what they read is verified.
func (d *download) finish(release func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done, d.err, d.release = true, err, release
	if d.file == nil {
		close(d.started)
	}
	d.signal()
}

// signal wakes who waits for a change. The caller holds mu.
func (d *download) signal() {
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// join adds a reader. It must leave.
func (d *download) join() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users++
}

// leave takes a reader away, or run. The last one closes the file.
func (d *download) leave() {
	d.mu.Lock()
	d.users--
	last := d.users == 0
	d.mu.Unlock()
	if !last {
		return
	}
	if d.file != nil {
		d.file.Close()
	}
	if d.release != nil {
		d.release()
	}
}

// readable tells how many bytes readers may have. The last byte is held back
// until the blob is verified, so that no client ever completes a bad one. The
// channel is closed when there may be more.
func (d *download) readable() (n int64, more <-chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done {
		return d.size, nil, d.err
	}
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return min(d.written, d.size-1), d.changed, nil
}

// await waits until more than offset bytes are readable, or until it is done.
func (d *download) await(ctx context.Context, offset int64) (readable int64, err error) {
	for {
		n, more, err := d.readable()
		if err != nil || more == nil || n > offset {
			return n, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// follower reads a download as it comes. It implements io.ReadSeeker for
// http.ServeContent.
type follower struct {
	ctx      context.Context
	download *download
	offset   int64
}

// Read waits for bytes that are not there yet.
func (f *follower) Read(p []byte) (int, error) {
	if f.offset >= f.download.size {
		return 0, io.EOF
	}
	n, err := f.download.await(f.ctx, f.offset)
	if err != nil {
		return 0, err
	}
	p = p[:min(int64(len(p)), n-f.offset)]
	read, err := f.download.file.ReadAt(p, f.offset)
	f.offset += int64(read)
	return read, err
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
