package blobcache

import "os"

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
