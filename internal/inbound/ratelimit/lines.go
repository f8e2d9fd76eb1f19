package ratelimit

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Lines limits how many lines of one kind a log gets: anybody can make any number of requests. It is safe for concurrent use.
type Lines struct {
	most   int
	within time.Duration
	logger logr.Logger
	clock  clock.PassiveClock

	mu         sync.Mutex
	since      time.Time
	logged     int
	suppressed int
}

// NewLines lets so many lines of one kind into a log within a time.
func NewLines(most int, within time.Duration, logger logr.Logger, c clock.PassiveClock) *Lines {
	return &Lines{most: most, within: within, logger: logger, clock: c}
}

// Logger is for one line, which says how many like it were suppressed before it, if any were. The logger discards the line while there were
// enough.
func (l *Lines) Logger() logr.Logger {
	suppressed, due := l.due(l.clock.Now())
	switch {
	case !due:
		return logr.Discard()
	case suppressed > 0:
		return l.logger.WithValues("suppressed", suppressed)
	}
	return l.logger
}

// due reports whether there may be another line, and how many were suppressed since the last one.
func (l *Lines) due(now time.Time) (suppressed int, ok bool) {
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
