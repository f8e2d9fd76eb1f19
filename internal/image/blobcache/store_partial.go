package blobcache

import (
	"context"

	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// partialBlob is what a download left that broke off: in this run, or in an
// earlier one that was killed. The next download of the blob resumes it. Nothing
// of it is trusted: it is hashed again, and a blob that then has another digest
// is fetched from its beginning.
type partialBlob struct {
	digest string
	path   string
	size   int64 // of the blob
	have   int64 // of it that is there
}

const (
	// minPartial is what is worth keeping: less is sooner fetched than hashed.
	minPartial = 4 << 20
	// maxPartials bounds how many are kept; their bytes are bounded as those of
	// blobs are, and are the first to make room.
	maxPartials = 16
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
		s.keepPartial(&partialBlob{digest: digest, path: path, size: size, have: info.Size()})
	}
	return nil
}

// keepPartial keeps a partial blob if it is large enough and there is room, else removes its file. The caller holds mu.
func (s *store) keepPartial(l *partialBlob) {
	other := s.partials[l.digest]
	switch {
	case l.have < minPartial, l.have >= l.size, other != nil && other.have >= l.have,
		other == nil && len(s.partials) >= maxPartials, s.used+l.have > s.max:
		_ = os.Remove(l.path) // found again by the next start's scan
		return
	case other != nil:
		s.dropPartial(other)
	}
	s.partials[l.digest] = l
	s.used += l.have
}

// dropPartial removes a partial blob. The caller holds mu.
func (s *store) dropPartial(l *partialBlob) {
	delete(s.partials, l.digest)
	s.used -= l.have
	_ = os.Remove(l.path)
}

// takePartial gives a partial blob to a download, which must return, use or remove it.
func (s *store) takePartial(digest string) *partialBlob {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.partials[digest]
	if l != nil {
		delete(s.partials, digest)
		s.used -= l.have
	}
	return l
}

// returnPartial takes a partial blob back that was not used.
func (s *store) returnPartial(l *partialBlob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepPartial(l)
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
	s.keepPartial(&partialBlob{digest: digest, path: file.Name(), size: size, have: have})
}

// resume promises room for the whole blob and opens what is there of it.
func (s *store) resume(l *partialBlob) (*os.File, error) {
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

// rehash feeds a partial blob to a hash.
func (l *partialBlob) rehash(ctx context.Context, sum hash.Hash) error {
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
