package bootstream

import (
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/printable"
)

// MaxUnfetched bounds how many images a boot server tells of that it cannot fetch, and how many a manager remembers.
const MaxUnfetched = 1024

// Unfetched are the boot servers that cannot fetch or verify the image of a record now, by their names. ServerOptions.Reached is told of the key when
// there is one more, or one less.
func (s *Server) Unfetched(key string) []RefusedBy {
	if counter, _ := s.o.Journal.CounterOf(key); counter == 0 {
		return nil
	}
	return s.refusing(func(f *following) (reason string, refuses bool) {
		reason, refuses = f.unfetched[key]
		return reason, refuses
	})
}

// ExplainUnfetched says in a sentence which boot servers cannot fetch an image, and why.
func ExplainUnfetched(by []RefusedBy) string { return sentence(by, " cannot fetch the image: ") }

// healthy notes what a follower says of itself, and tells those who show it which images it cannot fetch any longer, or can again. A boot server says so
// once a heartbeat; one that says more is not heard more often, since somebody writes what has changed.
func (s *Server) healthy(f *following, h *streampb.Health) {
	unfetched := h.Unfetched
	h.Unfetched, h.Problems = nil, problemsOf(h)
	s.mu.Lock()
	f.health = h
	now := s.o.Clock.Now()
	if !f.heard.IsZero() && now.Sub(f.heard) < s.o.Heartbeat/2 {
		s.mu.Unlock()
		return
	}
	f.heard = now
	before := f.unfetched
	f.unfetched = s.known(f, unfetched)
	told := make([]string, 0, len(before)+len(f.unfetched))
	for key, reason := range f.unfetched {
		if was, known := before[key]; !known || was != reason {
			told = append(told, key)
		}
	}
	for key := range before {
		if _, still := f.unfetched[key]; !still {
			told = append(told, key)
		}
	}
	s.mu.Unlock()
	s.tell(told)
}

// mostProblems bounds how many problems are remembered of what a boot server says of itself.
const mostProblems = 8

// problemsOf are the problems that a boot server tells of, as many and as long as anybody reads.
func problemsOf(h *streampb.Health) []string {
	var all []string
	for _, problem := range h.Problems[:min(len(h.Problems), mostProblems)] {
		all = append(all, printable.Short(problem, mostReason))
	}
	return all
}

// known are the images of records that the follower is sent: nothing else is remembered.
func (s *Server) known(f *following, unfetched []*streampb.Unfetched) map[string]string {
	all := map[string]string{}
	for _, u := range unfetched[:min(len(unfetched), MaxUnfetched)] {
		if f.isSent(s.o.Journal.CounterOf(u.Key)) {
			all[u.Key] = printable.Short(u.Reason, mostReason)
		}
	}
	return all
}
