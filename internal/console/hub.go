package console

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// maxSessions is how many servers are watched at a time, maxViewers how many people watch one.
	maxSessions = 128
	maxViewers  = 16
	// idle is how long a session stays without a byte in either direction.
	idle = 30 * time.Minute
)

// Stream is a console that is open.
type Stream interface {
	io.ReadWriteCloser
	Resize(columns, rows int) error
}

// Open opens the console of a server. An error that is a Refusal is not tried again. The Stream ends with ctx.
type Open func(ctx context.Context, server string) (Stream, error)

// Hub has the sessions of all servers that somebody watches.
type Hub struct {
	Open   Open
	Clock  clock.WithTicker
	Logger logr.Logger

	mu       sync.Mutex
	sessions map[string]*session
	stopped  bool
}

var errStopped = &Refusal{ReasonStopped, errors.New("Farrier ends")}

// Join has somebody watch the console of a server. Who may write does if nobody else is, or with take in place of whoever does. The session begins with
// its first viewer; Join does not wait until it is connected.
func (h *Hub) Join(ctx context.Context, server, name string, mayWrite, take bool) (*Viewer, error) {
	v := &Viewer{name: name, mayWrite: mayWrite, wake: make(chan struct{}, 1)}
	for {
		s, err := h.session(server)
		if err != nil {
			return nil, err
		}
		joined, err := s.join(v, take)
		if joined || err != nil {
			return v, err
		}
		select { // a BMC may have one session, so the old one has to end first
		case <-s.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// session is that of a server, which begins if there is none.
func (h *Hub) session(server string) (*session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return nil, errStopped
	}
	if s := h.sessions[server]; s != nil {
		return s, nil
	}
	if len(h.sessions) >= maxSessions {
		return nil, refuse(ReasonTooMany, "the consoles of %d servers are open, which is as many as can be", maxSessions)
	}
	if h.sessions == nil {
		h.sessions = map[string]*session{}
	}
	s := newSession(h, server)
	h.sessions[server] = s
	return s, nil
}

func (h *Hub) forget(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s.server)
}

// Sessions is how many servers are watched.
func (h *Hub) Sessions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

// Run ends all sessions when ctx ends, and returns when they have ended.
func (h *Hub) Run(ctx context.Context) error {
	<-ctx.Done()
	h.mu.Lock()
	h.stopped = true
	var open []*session
	for _, s := range h.sessions {
		open = append(open, s)
	}
	h.mu.Unlock()
	for _, s := range open {
		s.stop(errStopped)
		<-s.done
	}
	return nil
}
