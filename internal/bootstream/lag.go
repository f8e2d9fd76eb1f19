package bootstream

import "time"

// lag is how far a boot server is behind what it was sent.
type lag struct {
	// sent is the counter of the last record.
	sent uint64
	// since is when the first record was sent that is not acknowledged; zero: all are. An acknowledgement of a part leaves it as it is, so that
	// the lag that is told is never too small.
	since time.Time
}

func (l *lag) sending(counter uint64, now time.Time) {
	l.sent = max(l.sent, counter)
	if l.since.IsZero() {
		l.since = now
	}
}

func (l *lag) acknowledged(counter uint64) {
	if counter >= l.sent {
		l.since = time.Time{}
	}
}

// sending notes that a follower is sent records up to a counter.
func (s *Server) sending(f *following, counter uint64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.lag.sending(counter, now)
}
