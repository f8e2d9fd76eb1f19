package blobcache

import "os"

// pin keeps a blob from making room for others as long as there are others that
// can. It need not be there yet.
func (s *store) pin(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins[digest]++
	if b := s.blobs[digest]; b != nil {
		s.wasNeeded(b)
	}
}

// unpin takes one pin back.
func (s *store) unpin(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins[digest]--; s.pins[digest] <= 0 {
		delete(s.pins, digest)
	}
}

// fits reports whether a blob has room without another that is pinned making it.
func (s *store) fits(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.max - s.used
	for _, l := range s.left {
		free += l.have
	}
	for r := range s.rooms {
		free += r.have
	}
	for digest, b := range s.blobs {
		if free >= size {
			break
		}
		if s.pins[digest] == 0 {
			free += b.size
		}
	}
	return free >= size
}

// private reports whether the store has a blob that a pull secret opened.
func (s *store) private(digest string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.blobs[digest]
	return b != nil && b.private
}

// publish makes a private blob everybody's.
func (s *store) publish(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.blobs[digest]; b != nil && b.private {
		s.publishLocked(b)
	}
}

// publishLocked moves the blob. Where that fails it stays private, which only costs
// those a question to the registry whom it was published for.
func (s *store) publishLocked(b *stored) {
	if err := os.Rename(s.path(b.digest, true), s.path(b.digest, false)); err == nil {
		b.private = false
	}
}

// pathOf is where a blob is now; publishing moves it.
func (s *store) pathOf(b *stored) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path(b.digest, b.private)
}
