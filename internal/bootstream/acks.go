package bootstream

import (
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

// Reach is how far the newest record of a key has come.
type Reach uint8

const (
	// NotReached: no boot server of its site has acknowledged it.
	NotReached Reach = iota
	// Refused: those that have acknowledged it cannot use it.
	Refused
	// Reached: a boot server of its site uses it.
	Reached
	// NoFollower: no boot server of its site follows.
	NoFollower
)

// Reach says whether a boot server of its site uses the newest record of a key, and why not where one has refused it. When that changes,
// ServerOptions.Reached is told of the key.
func (s *Server) Reach(key string) (Reach, string) {
	// The record may change at any time, so whoever asks is told of what comes after.
	counter, site := s.o.Journal.CounterOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if counter == 0 {
		return NotReached, ""
	}
	reach, why := NoFollower, ""
	for f := range s.followers {
		if site != booturl.EverySite && f.peer.Site != site {
			continue
		}
		switch refusal := f.refused[key]; {
		case f.acked < counter:
			if reach == NoFollower {
				reach = NotReached
			}
		case refusal != nil && refusal.Counter >= counter:
			reach, why = Refused, refusal.Reason
		default:
			s.awaited.remove(key)
			return Reached, ""
		}
	}
	s.awaited.add(key, awaitedRecord{counter, site})
	return reach, why
}

// Forget ends the interest in a key that Reach was asked about.
func (s *Server) Forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaited.remove(key)
}

// acknowledged notes what a follower has, and tells those who wait for it.
func (s *Server) acknowledged(f *following, ack *streampb.Ack) {
	s.mu.Lock()
	f.acked = max(f.acked, ack.Counter)
	for key, r := range f.refused {
		if newest, _ := s.o.Journal.CounterOf(key); newest != r.Counter && newest <= f.acked {
			delete(f.refused, key) // it has a later one, or none
		}
	}
	for _, r := range ack.Refused {
		if len(f.refused) < mostRefused {
			f.refused[r.Key] = r
		}
	}
	reached := s.awaited.reached(f.peer.Site, f.acked)
	s.mu.Unlock()
	if len(reached) > 0 {
		s.o.Reached(reached)
	}
}
