package blobcache

import (
	"fmt"
	"os"
)

// errPreempted ends the download of something unneeded whose room something needed took.
var errPreempted = fmt.Errorf("%w: something needed took its room", ErrCacheFull)

// room is what a download of something that nobody needs takes of the store: as much as has arrived of it, never what a
// registry says that will arrive. What is needed may take it away. Its fields are guarded by store.mu.
type room struct {
	size, have int64 // of the blob, and of it that is there
	taken      bool  // by something that is needed
	cancel     func(error)
}

// unneededPattern names downloads of what nobody needs. No later run takes them up: parsePartial does not know it.
const unneededPattern = "unneeded.*"

// createUnneeded opens a file for a blob that nobody needs, and calls cancel when its room is taken. The size is only
// what somebody says, so nothing makes room because of it; but the sizes of what is under way fit into the share
// together. Either commitUnneeded or discardUnneeded must follow.
func (s *store) createUnneeded(size int64, cancel func(error)) (*os.File, *room, error) {
	if size > s.share {
		return nil, nil, fmt.Errorf("%w for what nobody needs: %d bytes, --unneeded-image-cache-size is %d", ErrTooLarge, size, s.share)
	}
	r := &room{size: size, cancel: cancel}
	s.mu.Lock()
	if s.expected+size > s.share {
		s.mu.Unlock()
		return nil, nil, fmt.Errorf("%w: downloads of %d bytes are under way", ErrBusy, s.expected)
	}
	s.expected += size
	s.rooms[r] = struct{}{}
	s.mu.Unlock()
	file, err := os.CreateTemp(s.partialDir(), unneededPattern)
	if err != nil {
		s.leaveRoom(r)
		return nil, nil, fmt.Errorf("image cache: %w", err)
	}
	return file, r, nil
}

// grow promises room for the bytes up to an offset, which have arrived.
func (s *store) grow(r *room, upTo int64) error {
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
	s.used += n
	s.unneeded += n
	r.have += n
	return nil
}

// evictUnneeded makes room for more of what nobody needs, if blobs suffice for that which nobody needs and nobody
// reads: such as nobody ever needed first, as far as the share is exceeded. The caller holds mu.
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

// takeRooms ends downloads of what nobody needs until used is at most limit. Their files are gone a moment later. The
// caller holds mu.
func (s *store) takeRooms(limit int64) {
	for r := range s.rooms {
		if s.used <= limit {
			return
		}
		if !r.taken {
			s.emptyRoom(r)
			r.taken = true
			r.cancel(errPreempted)
		}
	}
}

// emptyRoom returns what a room has. The caller holds mu.
func (s *store) emptyRoom(r *room) {
	s.used -= r.have
	s.unneeded -= r.have
	r.have = 0
}

// leaveRoom ends a room.
func (s *store) leaveRoom(r *room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveRoomLocked(r)
}

func (s *store) leaveRoomLocked(r *room) {
	s.emptyRoom(r)
	delete(s.rooms, r)
	s.expected -= r.size
}

// discardUnneeded gives up a download.
func (s *store) discardUnneeded(file *os.File, r *room) {
	_ = os.Remove(file.Name())
	s.leaveRoom(r)
}

// wasNeeded ends that a blob counts as one that nobody ever needed. The caller holds mu.
func (s *store) wasNeeded(b *stored) {
	if b.unneeded {
		b.unneeded = false
		s.unneeded -= b.size
	}
}
