package bootstream

import (
	"slices"

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

// acknowledged notes what a follower has, and tells those who wait for it or show what is refused.
func (s *Server) acknowledged(f *following, ack *streampb.Ack) {
	s.mu.Lock()
	f.acked = max(f.acked, ack.Counter)
	f.lag.acknowledged(f.acked)
	var told []string
	for _, r := range ack.Refused {
		if s.refuses(f, r) {
			told = append(told, r.Key)
		}
	}
	for key, r := range f.refused {
		if newest, _ := s.o.Journal.CounterOf(key); newest != r.Counter && newest <= f.acked {
			delete(f.refused, key) // it has a later one, or none
			told = append(told, key)
		}
	}
	told = append(told, s.awaited.reached(f.peer.Site, f.acked)...)
	s.mu.Unlock()
	s.tell(told)
}

// tell tells of keys, each once.
func (s *Server) tell(keys []string) {
	if len(keys) > 0 {
		slices.Sort(keys)
		s.o.Reached(slices.Compact(keys))
	}
}
