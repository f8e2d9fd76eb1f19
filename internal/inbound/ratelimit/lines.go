package ratelimit

import (
	"sync"
	"time"
)

// Lines limits how many lines of one kind the log gets: anybody can make any number of requests. One line stands for those that
// were suppressed before it.
type Lines struct {
	// Most is how many there may be within a time.
	Most   int
	Within time.Duration

	mu         sync.Mutex
	since      time.Time
	logged     int
	suppressed int
}

// Due reports whether there may be another line, and how many were suppressed since the last one.
func (l *Lines) Due(now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= l.Within {
		l.since, l.logged = now, 0
	}
	if l.logged == l.Most {
		l.suppressed++
		return 0, false
	}
	l.logged++
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}
