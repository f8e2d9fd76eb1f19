package blobcache

// pin keeps a blob from making room for others as long as there are others that
// can. It need not be there yet.
func (s *store) pin(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins[digest]++
	if b := s.blobs[digest]; b != nil {
		s.markNeeded(b)
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
	for _, l := range s.partials {
		free += l.have
	}
	for r := range s.reservations {
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
