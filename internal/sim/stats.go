package sim

import (
	"net"
	"net/http"
	"sync"

	"github.com/farrier-dev/farrier/internal/host/tcpstate"
)

// Stats is what a BMC was asked for since it started.
type Stats struct {
	Requests int `json:"requests"`
	// Logins are sessions created, BasicLogins requests that came with Basic
	// authentication, Refused answers of 401, and WrongPasswords those of them to the
	// name of an account with a password that is not its.
	Logins         int `json:"logins"`
	BasicLogins    int `json:"basicLogins"`
	Refused        int `json:"refused"`
	WrongPasswords int `json:"wrongPasswords"`
	// MaxRequests and MaxConnections are the most at one time.
	MaxRequests    int `json:"maxRequests"`
	MaxConnections int `json:"maxConnections"`
	// Connections are all that were ever made, OpenConnections those there are.
	Connections     int `json:"connections"`
	OpenConnections int `json:"openConnections"`
	// OldSessions are requests with a session that came after one with a newer session of the same account: two clients ask in turns.
	OldSessions int `json:"oldSessions"`
	// EventsDelivered and EventsLost are of the subscriptions.
	EventsDelivered int `json:"eventsDelivered"`
	EventsLost      int `json:"eventsLost"`
}

// stats has its own lock: connections come and go while a BMC is busy.
type stats struct {
	mu       sync.Mutex
	s        Stats
	requests int
	open     map[net.Conn]struct{}
}

// connection counts connections as the client has them. The server may learn of
// the end of one after the beginning of the next, for two goroutines tell it; so whether the
// client has closed the others is asked of the kernel.
func (s *stats) connection(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		if s.open == nil {
			s.open = map[net.Conn]struct{}{}
		}
		s.open[conn] = struct{}{}
		s.s.Connections++
		s.s.MaxConnections = max(s.s.MaxConnections, s.held())
	case http.StateClosed, http.StateHijacked:
		delete(s.open, conn)
	}
	s.s.OpenConnections = len(s.open)
}

// held counts the connections that the client has not closed. s.mu is held.
func (s *stats) held() int {
	if len(s.open) == 1 {
		return 1
	}
	n := 0
	for conn := range s.open {
		if !tcpstate.ClosedByPeer(conn) {
			n++
		}
	}
	return n
}

// request counts one that begins, and returns what counts its end. A client has no more in
// flight than it holds connections; what a busy server still does for one that has gone is
// not the client's.
func (s *stats) request() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.Requests++
	s.requests++
	s.s.MaxRequests = max(s.s.MaxRequests, min(s.requests, max(s.held(), 1)))
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests--
	}
}

func (s *stats) add(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.s)
}

func (s *stats) snapshot() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.s
}
