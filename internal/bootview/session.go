package bootview

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Caller is where a request comes from.
type Caller struct {
	Addr netip.Addr
	// MAC is that of the caller's interface, canonical; empty where it is not known, as behind a router.
	MAC string
}

// IsZero reports whether c is nobody.
func (c Caller) IsZero() bool { return !c.Addr.IsValid() }

// Session is who boots in an attempt, as far as the boot server has found out. All entries of an attempt share one, and it ends with
// the last of them. It is safe for concurrent use.
//
// A boot server binds the session to the first caller that may have it; what is secret in the attempt is for that caller alone. Bindings of
// claims are kept in the boot configuration and come back with its entry (Terms.Bound); those of a probe's boot are not, and the token,
// which nobody but the bound caller was given, binds again after a restart.
type Session struct {
	id      string
	entries int32 // that have it; for writers of the view
	waiting atomic.Int32

	mu     sync.Mutex
	opened chan struct{} // closed once the machine was seen on; nil: nobody has waited for that
	// What Terms say, whose Bound is bound.
	server, bmcToken, bindFirst string
	seen                        time.Time
	bound                       Caller
	reports                     int16
	repeats, inspected          bool
	proven                      bool
	// elsewhere: the binding has come with an entry.
	elsewhere bool
	fetched   []DeliveryKind // each once
	// strangers are who else asked; nil: nobody.
	strangers *strangers
}

// mostWaiting bounds how many requests wait for one session to open.
const mostWaiting = 4

// Wait lets a request wait for the session to open, unless enough do. Whoever waits calls leave at the end.
func (s *Session) Wait() (leave func(), ok bool) {
	if s.waiting.Add(1) > mostWaiting {
		s.waiting.Add(-1)
		return nil, false
	}
	return func() { s.waiting.Add(-1) }, true
}

// alwaysOpen is closed.
var alwaysOpen = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Opened is closed when the BMC has shown the machine on.
func (s *Session) Opened() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.seen.IsZero():
		return alwaysOpen
	case s.opened == nil:
		s.opened = make(chan struct{})
	}
	return s.opened
}

// take learns from an entry what controllers know.
func (s *Session) take(t Terms) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.IsZero() && !t.Seen.IsZero() && s.opened != nil {
		close(s.opened)
		s.opened = nil
	}
	if !t.Seen.IsZero() { // otherwise another entry of the attempt may know more
		s.seen = t.Seen
	}
	if s.bound.IsZero() && !t.Bound.IsZero() {
		s.bound, s.elsewhere = t.Bound, true
	}
	s.server, s.bmcToken, s.bindFirst, s.repeats, s.inspected = t.Server, t.BMCToken, t.BindFirst, t.Repeats, t.Inspected
}

// Terms are what controllers know of the attempt, with whom it is bound to by now.
func (s *Session) Terms() Terms {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Terms{Server: s.server, Seen: s.seen, Repeats: s.repeats, Bound: s.bound, BMCToken: s.bmcToken, Inspected: s.inspected, BindFirst: s.bindFirst}
}

// Bound returns whom the session is bound to; the zero Caller: nobody.
func (s *Session) Bound() Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound
}

// BoundElsewhere reports whether another has bound the session, so that what the bound caller was given is not known here.
func (s *Session) BoundElsewhere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.elsewhere
}

// Bind binds the session to c where it is bound to nobody, and returns whom it is bound to then. proven says that c had what was given to
// its BMC alone.
func (s *Session) Bind(c Caller, proven bool) Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound.IsZero() || proven && !s.proven {
		s.bound, s.proven = c, proven
	}
	return s.bound
}

// Proven reports whether the caller that the session is bound to had what was given to its BMC alone.
func (s *Session) Proven() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proven
}

// Move gives the session another address of the same machine.
func (s *Session) Move(c Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.bound.IsZero() {
		s.bound = c
	}
}

// Fetch notes that the bound caller was given something.
func (s *Session) Fetch(kind DeliveryKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.fetched, kind) {
		s.fetched = append(s.fetched, kind)
	}
}

// Fetched reports whether the bound caller was given that.
func (s *Session) Fetched(kind DeliveryKind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.fetched, kind)
}

// FetchedFile reports whether the bound caller was given what its firmware boots.
func (s *Session) FetchedFile() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.fetched, DeliveryKind.IsFile)
}

// Report counts a report, unless there were that many already.
func (s *Session) Report(most int16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reports >= most {
		return false
	}
	s.reports++
	return true
}

// strangers are those who asked for what is another machine's.
type strangers struct {
	// raised are the alarms that were raised, each told once.
	raised []raised
	// contested is who asked first for the script.
	contested netip.Addr
}

// raised is an alarm: who asked for what.
type raised struct {
	what DeliveryKind
	by   netip.Addr
}

// mostAlarms bounds what one session remembers of strangers.
const mostAlarms = 8

// Raise notes that a stranger asked, and reports whether that is news: it has not been raised in this session, and not too many others.
func (s *Session) Raise(what DeliveryKind, by netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.strangers == nil {
		s.strangers = &strangers{}
	}
	if what == DeliveredScript && !s.strangers.contested.IsValid() {
		s.strangers.contested = by
	}
	alarm := raised{what, by}
	if len(s.strangers.raised) >= mostAlarms || slices.Contains(s.strangers.raised, alarm) {
		return false
	}
	s.strangers.raised = append(s.strangers.raised, alarm)
	return true
}

// Contested is the stranger who has asked for the script of this boot first; invalid: nobody.
func (s *Session) Contested() netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.strangers == nil {
		return netip.Addr{}
	}
	return s.strangers.contested
}
