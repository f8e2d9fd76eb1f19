package image

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// seldom lets one line of the log stand for many of its kind: anybody can make as many requests as he likes.
type seldom struct {
	clock clock.PassiveClock
	every time.Duration

	mu    sync.Mutex
	since int // the last line
	last  time.Time
}

const (
	// refusalsEvery is the least time between two lines about what nobody needs, and failuresEvery about what
	// somebody needs: that concerns somebody.
	refusalsEvery = 30 * time.Second
	failuresEvery = time.Second
	// maxShown is how much of what a client sent is shown.
	maxShown = 200
)

// due counts one more, and reports whether it is time to say how many there have been.
func (s *seldom) due() (count int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since++
	count, now := s.since, s.clock.Now()
	if !s.last.IsZero() && now.Sub(s.last) < s.every {
		return 0, false
	}
	s.since, s.last = 0, now
	return count, true
}

// told puts the failure of a request into metrics and log.
func (b *Blobs) told(r *http.Request, status int, err error, needed bool) {
	message, lines := "image request failed", b.failures
	if !needed {
		reason := refusal(err)
		if reason == "" {
			return
		}
		b.metrics.refused.WithLabelValues(reason).Inc()
		message, lines = "Requests for images that no boot configuration names are refused", b.refusals
	} else if status < http.StatusInternalServerError {
		return
	}
	if count, ok := lines.due(); ok {
		b.opts.Logger.Info(message, "requests", count, "last", r.RemoteAddr, "path", shown(r.URL.Path), "query", shown(r.URL.RawQuery),
			"status", status, "error", err.Error())
	}
}

func shown(text string) string {
	if len(text) > maxShown {
		return text[:maxShown] + "…"
	}
	return text
}
