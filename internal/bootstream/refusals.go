package bootstream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/printable"
)

const (
	// mostRefused bounds what is remembered of what a follower refused.
	mostRefused = 1024
	// mostReason bounds the reason of a refusal, in bytes.
	mostReason = 256
	// mostNamed bounds how many boot servers a sentence names.
	mostNamed = 8
)

// RefusedBy is a boot server that cannot use a record, or cannot fetch an image, and why.
type RefusedBy struct{ BootServer, Reason string }

// Refusals are those of a record, one for each boot server, by their names. ServerOptions.Reached is told of the key when there is one more, or one less.
//
// A refusal lasts until its boot server has acknowledged the newest record of the key. A condition that says of the refusal gives its object a new
// version, so a record of that version follows: a refusal that ended with it would be taken back and said again without end.
func (s *Server) Refusals(key string) []RefusedBy {
	counter, _ := s.o.Journal.CounterOf(key)
	if counter == 0 {
		return nil
	}
	return s.refusing(func(f *following) (reason string, refuses bool) {
		r := f.refused[key]
		return r.GetReason(), r != nil
	})
}

// refusing are the followers of which refuses reports that they refuse something, one for each boot server, by their names.
func (s *Server) refusing(refuses func(*following) (reason string, refuses bool)) []RefusedBy {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []RefusedBy
	for f := range s.followers {
		if reason, is := refuses(f); is {
			all = append(all, RefusedBy{f.peer.Name, reason})
		}
	}
	slices.SortFunc(all, func(a, b RefusedBy) int {
		return strings.Compare(a.BootServer+"\x00"+a.Reason, b.BootServer+"\x00"+b.Reason)
	})
	// Processes that share a certificate are one boot server.
	return slices.CompactFunc(all, func(a, b RefusedBy) bool { return a.BootServer == b.BootServer })
}

// refuses notes that a follower cannot use a record, and reports whether that is news. What is no record of the follower's site is not noted: whoever
// has the key of a boot server can neither fill memory nor speak of other sites. The caller holds mu.
func (s *Server) refuses(f *following, r *streampb.Refusal) bool {
	newest, site := s.o.Journal.CounterOf(r.Key)
	if newest != r.Counter || !f.isSent(newest, site) {
		return false
	}
	before := f.refused[r.Key]
	if before == nil && len(f.refused) >= mostRefused || before != nil && before.Counter == newest {
		return false
	}
	reason := printable.Short(r.Reason, mostReason)
	f.refused[r.Key] = &streampb.Refusal{Key: r.Key, Counter: r.Counter, Reason: reason}
	return before == nil || before.Reason != reason
}

// isSent reports whether a follower is sent the newest record of a key, which has this counter and site.
func (f *following) isSent(counter uint64, site string) bool {
	return counter != 0 && (site == booturl.EverySite || site == f.peer.Site)
}

// Explain says in a sentence which boot servers cannot use a record, and why.
func Explain(refused []RefusedBy) string {
	return sentence(refused, " cannot use it and goes on with what it had: ")
}

func sentence(refused []RefusedBy, what string) string {
	parts := make([]string, 0, mostNamed+1)
	for i, r := range refused {
		if i == mostNamed {
			parts = append(parts, fmt.Sprintf("and %d more boot servers", len(refused)-i))
			break
		}
		parts = append(parts, r.BootServer+what+r.Reason)
	}
	return strings.Join(parts, "; ")
}
