package blobcache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// download is one blob on its way from a registry to the store, with any
// number of clients reading it meanwhile. It belongs to nobody's request: it
// goes on when a client hangs up, because the client will be back; for a while
// only, where nobody needs the blob.
type download struct {
	ref    registry.Reference
	digest string
	client *auth.Client
	// private: a pull secret opens it.
	private bool
	// needed: somebody was going to boot it when it began, at that time. It stays what
	// it is: what becomes needed gets another download.
	needed bool
	began  time.Time
	cancel context.CancelCauseFunc
	// atWork: it has had its turn.
	atWork atomic.Bool
	// started is closed when size and file are set and reading may begin, or
	// when it failed before that.
	started chan struct{}
	// ended is closed when it is done. Who wants all or nothing waits for that, and
	// is not woken by thousands for each piece that comes.
	ended chan struct{}
	size  int64
	file  *os.File

	// What only run uses: the hash of what is written, what it has of the store if it
	// is not needed, what an earlier download left, the mirrors that sent some of it,
	// and whether they may be asked.
	sum      hash.Hash
	reserved *reservation
	partial  *partialBlob
	mirrors  []*registry.Mirror
	direct   bool

	mu      sync.Mutex
	written int64 // only run changes it
	// generation counts how often it was started over: bytes of an earlier one may
	// be others.
	generation int
	done       bool // verified and stored; or failed with err
	err        error
	changed    chan struct{} // closed at the next change, nil while nobody waits
	users      int           // readers, and run
	idle       time.Time     // when it was seen without readers, zero if it was not
	release    func()        // lets the store evict the blob
}

const (
	// maxResumes is how often in a row a download may break off without having
	// brought a byte.
	maxResumes  = 3
	resumePause = 500 * time.Millisecond
	copyBuffer  = 256 << 10
)

func newDownload(ref registry.Reference, digest string, client *auth.Client) *download {
	return &download{ref: ref, digest: digest, client: client, started: make(chan struct{}), ended: make(chan struct{}), users: 1, sum: sha256.New()}
}

func (d *download) key() blobKey { return blobKey{d.ref.Name(), d.digest} }

// run downloads, verifies and stores the blob.
func (d *download) run(ctx context.Context, b *Cache) {
	defer d.leave()
	err := d.fetch(ctx, b)
	var release func()
	if err == nil {
		release, err = d.commit(b)
	}
	if err != nil {
		log := b.opts.Logger
		if !d.needed {
			log = log.V(1) // anybody can cause any number of these; the boot server logs that there are some
		}
		log.Info("blob not downloaded", "image", d.ref.Name(), "digest", d.digest, "error", err)
		d.giveUp(b, err)
	}
	b.metrics.downloaded(d.needed, err)
	if !d.needed {
		b.unneeded.leave(d.key(), err)
	}
	// Before anybody hears of a failure: who tries again gets a new download.
	b.forget(d)
	d.finish(release, err)
}

func (d *download) commit(b *Cache) (release func(), err error) {
	if d.reserved != nil {
		return b.store.commitUnneeded(d.file, d.digest, d.reserved, b.opts.Clock.Now())
	}
	return b.store.commit(d.file, d.digest, d.size, d.private, b.opts.Clock.Now())
}

// fetch writes the blob to a file and verifies it. It takes the blob up again
// where it broke off, as long as that brings it forward.
func (d *download) fetch(ctx context.Context, b *Cache) error {
	at := b.unneeded.downloading
	if d.needed {
		at = b.placesOf(d.ref.Registry).downloading
	}
	done, err := turn(ctx, at)
	if err != nil {
		return err
	}
	defer done()
	d.atWork.Store(true)
	if d.needed {
		b.urgent.Add(1)
		defer b.urgent.Add(-1)
	}
	if err := d.resumePartial(ctx, b); err != nil {
		return err
	}
	for {
		err := d.fill(ctx, b)
		if !errors.Is(err, registry.ErrCorrupt) || !d.startOver() {
			return err
		}
	}
}

// fill fetches all that is missing and verifies the whole.
func (d *download) fill(ctx context.Context, b *Cache) error {
	for failures := 0; ; {
		before := d.written
		err := d.attempt(ctx, b)
		if err == nil {
			break
		}
		if failures++; d.written > before && !errors.Is(err, errSlow) {
			failures = 1
		}
		if d.file == nil || !resumable(err) || failures > maxResumes || ctx.Err() != nil {
			return err
		}
		b.opts.Logger.V(1).Info("download interrupted", "image", d.ref.Name(), "digest", d.digest, "bytes", d.written, "error", err)
		if err := pause(ctx, b, failures-1); err != nil {
			return err
		}
	}
	if got := "sha256:" + hex.EncodeToString(d.sum.Sum(nil)); got != d.digest {
		return fmt.Errorf("%w: blob %s of %s has %s", registry.ErrCorrupt, d.digest, d.ref.Name(), got)
	}
	return nil
}

// resumable reports whether a failure is one of the way, not of the blob or
// of our disk.
func resumable(err error) bool {
	return errors.Is(err, registry.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
}

// pause waits before another attempt, not at all before the first: connections
// break, and storage URLs expire, without anything being wrong.
func pause(ctx context.Context, b *Cache, failures int) error {
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
func (d *download) attempt(ctx context.Context, b *Cache) error {
	least := neededPace
	if !d.needed {
		least = unneededPace
	}
	guarded, wrap, stop := guardStalls(ctx, b.opts.Timeout, least)
	defer stop()
	opened, err := b.upstreamFor(d.needed).Blob(guarded, d.client, registry.BlobPart{
		Ref: d.ref, Digest: d.digest, Offset: d.written, Size: d.size, Direct: d.direct,
	})
	if err == nil {
		defer opened.Close()
		if err = d.receive(guarded, b, opened, wrap(opened)); err != nil && opened.Mirror != nil {
			d.blame(opened.Mirror) // what is missing is asked of the next
		}
	}
	if err != nil && guarded.Err() != nil {
		return context.Cause(guarded)
	}
	return err
}

// blame leaves a mirror alone that broke off. A failure on behalf of a stranger does not make the mirror rest for others: the stranger is
// served by the registry itself.
func (d *download) blame(m *registry.Mirror) {
	if d.needed {
		m.Rest(registry.MirrorRest)
		return
	}
	d.direct = true
}

// receive takes an answer of the registry, or of a mirror.
func (d *download) receive(ctx context.Context, b *Cache, opened registry.OpenedBlob, body io.Reader) error {
	if opened.Mirror != nil && !slices.Contains(d.mirrors, opened.Mirror) {
		d.mirrors = append(d.mirrors, opened.Mirror)
	}
	if known := cmp.Or(d.size, b.described(d.key())); known > 0 && opened.Size != known {
		return fmt.Errorf("%w: blob %s of %s has %d bytes and not %d", registry.ErrCorrupt, d.digest, d.ref.Name(), opened.Size, known)
	}
	if d.file == nil {
		if err := d.start(b, opened.Size); err != nil {
			return err
		}
	}
	// A registry may ignore a range (RFC 9110 §14.2).
	if _, err := io.CopyN(io.Discard, body, opened.Skip); err != nil {
		return registry.CallError(err)
	}
	return d.copy(ctx, b, body)
}

// start opens the download to readers.
func (d *download) start(b *Cache, size int64) (err error) {
	var file *os.File
	switch {
	case !d.needed:
		file, d.reserved, err = b.store.createUnneeded(size, d.cancel)
	case d.partial != nil:
		file, err = b.store.resume(d.partial)
	default:
		file, err = b.store.create(d.digest, size)
	}
	if err != nil {
		return err
	}
	d.size, d.file = size, file
	close(d.started)
	return nil
}

// copy appends to the file, hashes what it appends, and wakes readers.
func (d *download) copy(ctx context.Context, b *Cache, body io.Reader) error {
	buffer := make([]byte, copyBuffer)
	for d.written < d.size {
		n, err := body.Read(buffer[:min(copyBuffer, d.size-d.written)])
		if n > 0 {
			if err := d.reserve(ctx, b, int64(n)); err != nil {
				return err
			}
			if _, err := d.file.WriteAt(buffer[:n], d.written); err != nil {
				return fmt.Errorf("image cache: %w", err)
			}
			d.sum.Write(buffer[:n])
			d.progress(int64(n))
		}
		if err != nil && d.written < d.size {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return registry.CallError(err)
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
	close(d.ended)
	d.signal()
}

// awaitEnd waits until the blob is verified and stored.
func (d *download) awaitEnd(ctx context.Context) error {
	select {
	case <-d.ended:
		return d.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// signal wakes the readers that wait for a change. The caller holds mu.
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
	d.idle = time.Time{}
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

// readable returns how many bytes readers may have. The last byte is held back
// until the blob is verified, so that no client ever completes a bad one. The
// channel is closed when there may be more.
func (d *download) readable() (n int64, generation int, more <-chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done {
		return d.size, d.generation, nil, d.err
	}
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return min(d.written, d.size-1), d.generation, d.changed, nil
}

// await waits until more than offset bytes are readable, or until it is done.
func (d *download) await(ctx context.Context, offset int64) (readable int64, generation int, err error) {
	for {
		n, generation, more, err := d.readable()
		if err != nil || more == nil || n > offset {
			return n, generation, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		}
	}
}
