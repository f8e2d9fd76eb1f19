package bootserver

import (
	"sync"
	"time"
)

// limitedLines limits how many lines of one kind the log gets: anybody can make any number of requests. One line stands for those that
// were suppressed before it.
type limitedLines struct {
	// most is how many there may be within a time.
	most   int
	within time.Duration

	mu         sync.Mutex
	since      time.Time
	logged     int
	suppressed int
}

// due reports whether there may be another line, and how many were suppressed since the last one.
func (l *limitedLines) due(now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= l.within {
		l.since, l.logged = now, 0
	}
	if l.logged == l.most {
		l.suppressed++
		return 0, false
	}
	l.logged++
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}
