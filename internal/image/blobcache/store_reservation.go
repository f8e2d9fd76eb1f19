package blobcache

import (
	"fmt"
	"os"
)

// errPreempted ends the download of an unneeded blob whose reservation a needed blob took.
var errPreempted = fmt.Errorf("%w: a needed blob took its place", ErrCacheFull)

// reservation is the space in the store of a download of an unneeded blob: as much as has arrived, never what a registry announces.
// Needed blobs may take it away. store.mu guards its fields.
type reservation struct {
	size, have int64 // of the blob, and of it that is there
	taken      bool  // by something that is needed
	cancel     func(error)
}

// unneededPattern names downloads of unneeded blobs. No later run resumes them: parsePartial does not know the name.
const unneededPattern = "unneeded.*"

// createUnneeded opens a file for an unneeded blob, and calls cancel when its reservation is taken. The size is only
// what a registry announces, so nothing makes room because of it; but the sizes of what is under way fit into the share
// together. Either commitUnneeded or discardUnneeded must follow.
func (s *store) createUnneeded(size int64, cancel func(error)) (*os.File, *reservation, error) {
	if size > s.share {
		return nil, nil, fmt.Errorf("%w for blobs that no boot configuration names: %d bytes, --unneeded-image-cache-size is %d", ErrTooLarge, size, s.share)
	}
	r := &reservation{size: size, cancel: cancel}
	s.mu.Lock()
	if s.expected+size > s.share {
		s.mu.Unlock()
		return nil, nil, fmt.Errorf("%w: downloads of %d bytes are under way", ErrBusy, s.expected)
	}
	s.expected += size
	s.reservations[r] = struct{}{}
	s.mu.Unlock()
	file, err := os.CreateTemp(s.partialDir(), unneededPattern)
	if err != nil {
		s.endReservation(r)
		return nil, nil, fmt.Errorf("image cache: %w", err)
	}
	return file, r, nil
}

// grow reserves space for the bytes up to an offset, which have arrived.
func (s *store) grow(r *reservation, upTo int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.taken {
		return errPreempted
	}
	n := upTo - r.have
	if n <= 0 {
		return nil
	}
	s.evictUnneeded(n)
	if s.unneeded+n > s.share || s.used+n > s.max {
		return ErrCacheFull
	}
	if err := s.leavesRoom(n); err != nil {
		return err
	}
	s.used += n
	s.unneeded += n
	r.have += n
	return nil
}

// evictUnneeded makes room for more unneeded bytes by blobs that are neither pinned nor read: first, as far as the share is exceeded, by
// those that were never needed. The caller holds mu.
func (s *store) evictUnneeded(n int64) {
	for _, enough := range []func(*stored) bool{
		func(b *stored) bool { return !b.unneeded || s.unneeded+n <= s.share },
		func(*stored) bool { return s.used+n <= s.max },
	} {
		for element := s.recent.Back(); element != nil; {
			b := element.Value.(*stored)
			element = element.Prev()
			if b.readers == 0 && s.pins[b.digest] == 0 && !enough(b) {
				s.remove(b)
			}
		}
	}
}

// preempt ends downloads of unneeded blobs until used is at most limit. Their files are gone a moment later. The caller holds mu.
func (s *store) preempt(limit int64) {
	for r := range s.reservations {
		if s.used <= limit {
			return
		}
		if !r.taken {
			s.emptyReservation(r)
			r.taken = true
			r.cancel(errPreempted)
		}
	}
}

// emptyReservation returns the space of a reservation. The caller holds mu.
func (s *store) emptyReservation(r *reservation) {
	s.used -= r.have
	s.unneeded -= r.have
	r.have = 0
}

// endReservation ends a reservation.
func (s *store) endReservation(r *reservation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endReservationLocked(r)
}

func (s *store) endReservationLocked(r *reservation) {
	s.emptyReservation(r)
	delete(s.reservations, r)
	s.expected -= r.size
}

// discardUnneeded gives up a download.
func (s *store) discardUnneeded(file *os.File, r *reservation) {
	_ = os.Remove(file.Name())
	s.endReservation(r)
}

// markNeeded moves a blob out of the share of unneeded ones. The caller holds mu.
func (s *store) markNeeded(b *stored) {
	if b.unneeded {
		b.unneeded = false
		s.unneeded -= b.size
	}
}
