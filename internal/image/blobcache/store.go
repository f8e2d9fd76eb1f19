package blobcache

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/farrier-dev/farrier/internal/host/diskspace"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

var (
	// ErrTooLarge reports a blob that is larger than the whole cache.
	ErrTooLarge = errors.New("blob is larger than the image cache")
	// ErrCacheFull reports that everything in the cache has precedence, or is being served.
	ErrCacheFull = errors.New("image cache is full of blobs in use")
)

// store keeps verified blobs in a directory, one file each, named by digest.
// What it holds, and what is promised to downloads under way, never exceeds its
// bound; blobs that nobody reads make room, the least recently used first.
//
// Unneeded blobs have a share of it (store_reservation.go). No needed blob makes room
// for an unneeded one; an unneeded one makes room for needed ones, also while somebody reads it: its
// name goes then, and its bytes with its last reader.
//
//	<dir>/sha256/<64 hex digits>   complete and verified
//	<dir>/private/<64 hex digits>  the same, opened by a pull secret
//	<dir>/partial/<64 hex digits>-<size>.<random>  a download under way, or what one left
type store struct {
	dir        string
	max, share int64
	space      func(string) (diskspace.Space, error) // what is left of the disk

	mu       sync.Mutex
	blobs    map[string]*stored // by digest
	pins     map[string]int     // by digest: how many have asked to keep it
	partials map[string]*partialBlob
	used     int64 // bytes stored, left and promised
	// What nobody ever needed: bytes stored and arrived, downloads under way, and how large those are said to be.
	unneeded, expected int64
	reservations       map[*reservation]struct{}
	// recent has every *stored, the most recently used in front.
	recent *list.List
}

// stored is a complete blob. Its first fields are guarded by store.mu.
type stored struct {
	digest  string
	private bool
	// unneeded: it came when nobody needed it, and nobody has since.
	unneeded bool
	size     int64
	readers  int // it is not evicted while it has some
	touched  time.Time
	element  *list.Element

	checking  sync.Mutex
	unchecked bool
}

// check verifies, once, a blob that an earlier run left: disks lose and change
// bytes, and people do.
func (b *stored) check(path string) error {
	b.checking.Lock()
	defer b.checking.Unlock()
	if !b.unchecked {
		return nil
	}
	err := verifyFile(path, b.digest)
	b.unchecked = err != nil
	return err
}

// touchAfter is how old the recorded time of use becomes before it is renewed.
const touchAfter = time.Minute

func openStore(dir string, maxBytes, share int64) (*store, error) {
	s := &store{
		dir: dir, max: maxBytes, share: min(share, maxBytes), recent: list.New(), reservations: make(map[*reservation]struct{}),
		space: diskspace.Of, blobs: make(map[string]*stored), pins: make(map[string]int), partials: make(map[string]*partialBlob),
	}
	for _, dir := range []string{s.blobDir(false), s.blobDir(true), s.partialDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("image cache: %w", err)
		}
	}
	if err := errors.Join(s.scan(), s.scanPartial()); err != nil {
		return nil, fmt.Errorf("image cache: %w", err)
	}
	return s, nil
}

func (s *store) partialDir() string { return filepath.Join(s.dir, "partial") }

func (s *store) blobDir(private bool) string {
	if private {
		return filepath.Join(s.dir, "private")
	}
	return filepath.Join(s.dir, "sha256")
}

// path is safe for any digest that digestText matches, and none other comes here.
func (s *store) path(digest string, private bool) string {
	return filepath.Join(s.blobDir(private), strings.TrimPrefix(digest, "sha256:"))
}

// scan takes up what an earlier run left, in the order of its last use.
func (s *store) scan() error {
	type left struct {
		fs.FileInfo
		private bool
	}
	var found []left
	for _, private := range []bool{false, true} {
		files, err := os.ReadDir(s.blobDir(private))
		if err != nil {
			return err
		}
		for _, file := range files {
			info, err := file.Info()
			if err != nil || !info.Mode().IsRegular() || !registry.ValidDigest("sha256:"+file.Name()) {
				continue // not ours: leave it alone
			}
			found = append(found, left{info, private})
		}
	}
	slices.SortFunc(found, func(a, b left) int { return a.ModTime().Compare(b.ModTime()) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, file := range found {
		if s.blobs["sha256:"+file.Name()] != nil {
			continue // published, and not yet tidied up when the power went
		}
		b := s.insert("sha256:"+file.Name(), file.Size())
		b.private, b.touched, b.unchecked = file.private, file.ModTime(), true
		s.used += b.size
	}
	s.evict(s.max)
	return nil
}

// insert adds a blob in front. The caller holds mu and accounts for its size.
func (s *store) insert(digest string, size int64) *stored {
	b := &stored{digest: digest, size: size}
	b.element = s.recent.PushFront(b)
	s.blobs[digest] = b
	return b
}

// size returns how large a blob is if the store has it.
func (s *store) size(digest string) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blobs[digest]
	if !ok {
		return 0, false
	}
	return b.size, true
}

// has reports whether the store has a blob, as far as it knows.
func (s *store) has(digest string) bool {
	_, ok := s.size(digest)
	return ok
}

// open returns a blob's file. The blob stays until release is called. It
// returns fs.ErrNotExist for a blob that the store does not have, and drops
// one that turns out to be damaged.
func (s *store) open(digest string, now time.Time) (file *os.File, release func(), err error) {
	b, touch := s.acquire(digest, now)
	if b == nil {
		return nil, nil, fs.ErrNotExist
	}
	path := s.pathOf(b)
	if err = b.check(path); err == nil {
		file, err = os.Open(path)
	}
	if errors.Is(err, fs.ErrNotExist) && s.pathOf(b) != path {
		s.release(b) // it has been published meanwhile
		return s.open(digest, now)
	}
	if err != nil {
		if errors.Is(err, registry.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
			s.drop(b)
			err = fs.ErrNotExist
		}
		s.release(b)
		return nil, nil, fmt.Errorf("image cache: %w", err)
	}
	if touch {
		// Only the order of eviction after a restart depends on it.
		_ = os.Chtimes(path, time.Time{}, now)
	}
	return file, func() {
		file.Close()
		s.release(b)
	}, nil
}

func (s *store) acquire(digest string, now time.Time) (b *stored, touch bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b = s.blobs[digest]
	if b == nil {
		return nil, false
	}
	b.readers++
	s.recent.MoveToFront(b.element)
	if touch = now.Sub(b.touched) > touchAfter; touch {
		b.touched = now
	}
	return b, touch
}

func (s *store) release(b *stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.readers--
}

// drop removes a blob at once. It may have been dropped already.
func (s *store) drop(b *stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blobs[b.digest] == b {
		s.remove(b)
	}
}

func (s *store) remove(b *stored) {
	delete(s.blobs, b.digest)
	s.recent.Remove(b.element)
	s.used -= b.size
	if b.unneeded {
		s.unneeded -= b.size
	}
	// A file that cannot be removed is found again by the next start's scan.
	_ = os.Remove(s.path(b.digest, b.private))
}

// evict makes used at most limit for the sake of something needed, if there is that much to give. Partial blobs go first,
// then what nobody needs, and last what others need. The caller holds mu.
func (s *store) evict(limit int64) {
	for _, l := range s.partials {
		if s.used <= limit {
			return
		}
		s.dropPartial(l)
	}
	s.evictBlobs(limit, func(b *stored) bool { return b.readers == 0 && s.pins[b.digest] == 0 })
	s.preempt(limit)
	s.evictBlobs(limit, func(b *stored) bool { return s.pins[b.digest] == 0 })
	s.evictBlobs(limit, func(b *stored) bool { return b.readers == 0 })
}

// evictBlobs removes blobs that may go, the least recently used first. The caller holds mu.
func (s *store) evictBlobs(limit int64, may func(*stored) bool) {
	for element := s.recent.Back(); element != nil && s.used > limit; {
		b := element.Value.(*stored)
		element = element.Prev()
		if may(b) {
			s.remove(b)
		}
	}
}

// create promises room for a blob and opens a file to download it to. Either
// commit, discard or interrupt must follow.
func (s *store) create(digest string, size int64) (*os.File, error) {
	if err := s.reserve(size); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(s.partialDir(), partialPattern(digest, size))
	if err != nil {
		s.unreserve(size)
		return nil, fmt.Errorf("image cache: %w", err)
	}
	return file, nil
}

func (s *store) reserve(size int64) error {
	if size > s.max {
		return fmt.Errorf("%w: %d bytes, the cache holds %d", ErrTooLarge, size, s.max)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.leavesRoom(size); err != nil {
		return err
	}
	s.evict(s.max - size)
	if s.used+size > s.max {
		return ErrCacheFull
	}
	s.used += size
	return nil
}

func (s *store) unreserve(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= size
}

// commit takes a verified download into the store. The blob has one reader,
// the caller, until release is called. The same blob may have come from another
// repository meanwhile; then it is kept as it is, for anybody who may have it.
func (s *store) commit(file *os.File, digest string, size int64, private bool, now time.Time) (release func(), err error) {
	return s.take(file, digest, size, nil, private, now)
}

// commitUnneeded is commit for a blob with a reservation.
func (s *store) commitUnneeded(file *os.File, digest string, r *reservation, now time.Time) (release func(), err error) {
	return s.take(file, digest, r.size, r, false, now)
}

func (s *store) take(file *os.File, digest string, size int64, r *reservation, private bool, now time.Time) (release func(), err error) {
	// Synced before it gets its name: a name stands for a whole blob, also
	// after the power went.
	if err := file.Sync(); err != nil {
		return nil, fmt.Errorf("image cache: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, present := s.blobs[digest]
	if r != nil && r.taken {
		return nil, errPreempted
	}
	if !present {
		if err := os.Rename(file.Name(), s.path(digest, private)); err != nil {
			return nil, fmt.Errorf("image cache: %w", err)
		}
		b = s.insert(digest, size)
		b.private = private
	} else {
		_ = os.Remove(file.Name())
		if b.private && !private {
			s.publishLocked(b)
		}
	}
	s.account(b, size, r, present)
	b.readers++
	b.touched = now
	return func() { s.release(b) }, nil
}

// account turns what was promised to a download into what the blob takes; a blob that was present takes nothing more. The caller holds mu.
func (s *store) account(b *stored, size int64, r *reservation, present bool) {
	switch {
	case r == nil && present:
		s.used -= size
	case r != nil:
		s.endReservationLocked(r)
		if !present {
			s.used += size
		}
	}
	switch {
	case r == nil:
		s.markNeeded(b)
	case !present && s.pins[b.digest] == 0:
		b.unneeded = true
		s.unneeded += size
	}
}

// discard gives up a download.
func (s *store) discard(file *os.File, size int64) {
	_ = os.Remove(file.Name())
	s.unreserve(size)
}

func verifyFile(path, digest string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err
	}
	if got := "sha256:" + hex.EncodeToString(hash.Sum(nil)); got != digest {
		return fmt.Errorf("%w: file of %s has %s", registry.ErrCorrupt, digest, got)
	}
	return nil
}
