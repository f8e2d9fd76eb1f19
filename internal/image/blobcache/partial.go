package blobcache

import (
	"context"

	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// leftover is what a download left behind that broke off: in this run, or in an
// earlier one that was killed. The next download of the blob takes it up. Nothing
// of it is trusted: it is hashed again, and a blob that then has another digest
// is fetched from its beginning.
type leftover struct {
	digest string
	path   string
	size   int64 // of the blob
	have   int64 // of it that is there
}

const (
	// minLeftover is what is worth keeping: less is sooner fetched than hashed.
	minLeftover = 4 << 20
	// maxLeftovers bounds how many are kept; their bytes are bounded as those of
	// blobs are, and are the first to make room.
	maxLeftovers = 16
)

// partialPattern names a download under way, for os.CreateTemp, so that a later
// run knows what it is.
func partialPattern(digest string, size int64) string {
	return strings.TrimPrefix(digest, "sha256:") + "-" + strconv.FormatInt(size, 10) + ".*"
}

// parsePartial reads a name that partialPattern made.
func parsePartial(name string) (digest string, size int64, ok bool) {
	hex, rest, _ := strings.Cut(name, "-")
	text, _, _ := strings.Cut(rest, ".")
	size, err := strconv.ParseInt(text, 10, 64)
	digest = "sha256:" + hex
	return digest, size, err == nil && size > 0 && registry.ValidDigest(digest)
}

// scanPartial takes up what broken downloads of an earlier run left, and removes
// all else in the folder, which is nobody else's.
func (s *store) scanPartial() error {
	files, err := os.ReadDir(s.partialDir())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, file := range files {
		path := filepath.Join(s.partialDir(), file.Name())
		digest, size, ok := parsePartial(file.Name())
		info, err := file.Info()
		if !ok || err != nil || !info.Mode().IsRegular() || s.blobs[digest] != nil {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		s.leave(&leftover{digest: digest, path: path, size: size, have: info.Size()})
	}
	return nil
}

// leave keeps a leftover if it is worth it and there is room, else removes its
// file. The caller holds mu.
func (s *store) leave(l *leftover) {
	other := s.left[l.digest]
	switch {
	case l.have < minLeftover, l.have >= l.size, other != nil && other.have >= l.have,
		other == nil && len(s.left) >= maxLeftovers, s.used+l.have > s.max:
		_ = os.Remove(l.path) // found again by the next start's scan
		return
	case other != nil:
		s.dropLeftover(other)
	}
	s.left[l.digest] = l
	s.used += l.have
}

// dropLeftover removes a leftover. The caller holds mu.
func (s *store) dropLeftover(l *leftover) {
	delete(s.left, l.digest)
	s.used -= l.have
	_ = os.Remove(l.path)
}

// takeLeftover gives a leftover to a download, which must bring it back, use it
// or remove it.
func (s *store) takeLeftover(digest string) *leftover {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.left[digest]
	if l != nil {
		delete(s.left, digest)
		s.used -= l.have
	}
	return l
}

// bringBack returns a leftover that could not be used yet.
func (s *store) bringBack(l *leftover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(l)
}

// interrupt gives up a download that another one may take up where it was.
func (s *store) interrupt(file *os.File, digest string, size, have int64) {
	if err := file.Truncate(have); err != nil {
		s.discard(file, size)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= size
	s.leave(&leftover{digest: digest, path: file.Name(), size: size, have: have})
}

// resume promises room for the whole blob and opens what is there of it.
func (s *store) resume(l *leftover) (*os.File, error) {
	if err := s.reserve(l.size); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(l.path, os.O_RDWR, 0)
	if err != nil {
		s.unreserve(l.size)
		return nil, fmt.Errorf("image cache: %w", err)
	}
	return file, nil
}

// rehash brings a hash to where a leftover ends.
func (l *leftover) rehash(ctx context.Context, sum hash.Hash) error {
	file, err := os.Open(l.path)
	if err != nil {
		return fmt.Errorf("image cache: %w", err)
	}
	defer file.Close()
	n, err := io.Copy(sum, &cancelReader{ctx, io.LimitReader(file, l.have)})
	if err == nil && n < l.have {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// cancelReader ends with its context.
type cancelReader struct {
	ctx context.Context
	io.Reader
}

func (r *cancelReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// takeUp begins where an earlier download of the blob broke off. Readers see
// nothing of it before the registry has agreed to go on.
func (d *download) takeUp(ctx context.Context, b *Cache) error {
	if !d.needed {
		return nil // what somebody needs from another repository may want it
	}
	l := b.store.takeLeftover(d.digest)
	if l == nil {
		return nil
	}
	if err := l.rehash(ctx, d.sum); err != nil {
		if ctx.Err() != nil {
			b.store.bringBack(l)
			return err
		}
		_ = os.Remove(l.path)
		d.sum.Reset()
		return nil
	}
	d.left, d.written, d.size = l, l.have, l.size
	return nil
}

// startOver fetches from its beginning a blob that turned out to be another one,
// if somebody else than its registry may be the cause: mirrors, which are then
// not asked, or the disk that a leftover was on. Readers who have got
// nothing yet go on reading; the others are cut off.
func (d *download) startOver() bool {
	if d.left == nil && len(d.mirrors) == 0 {
		return false
	}
	for _, m := range d.mirrors {
		if d.needed {
			m.Rest(registry.MirrorDistrust)
		}
	}
	d.direct, d.mirrors = d.direct || len(d.mirrors) > 0, nil
	if d.left != nil && d.file == nil {
		_ = os.Remove(d.left.path)
		d.size = 0
	}
	d.left = nil
	d.sum.Reset()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written = 0
	d.generation++
	d.signal()
	return true
}

// giveUp returns to the store what it lent.
func (d *download) giveUp(b *Cache, err error) {
	switch {
	case d.room != nil:
		b.store.discardUnneeded(d.file, d.room)
	case d.file == nil && d.left != nil:
		b.store.bringBack(d.left)
	case d.file == nil:
	case resumable(err) || errors.Is(err, ErrClosed) || errors.Is(err, ErrAbandoned):
		b.store.interrupt(d.file, d.digest, d.size, d.written)
	default:
		b.store.discard(d.file, d.size)
	}
}
