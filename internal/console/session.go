package console

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// firstPause and lastPause are how long is waited before a BMC that dropped the console is connected to again.
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// steady is how long a connection has to last for the pause to be short again.
	steady = 30 * time.Second
	// maxOrders is what waits for a BMC that takes no input.
	maxOrders = 64
)

// order is something for the BMC: bytes, or a size.
type order struct {
	data          []byte
	columns, rows int
}

// session is the console of one server while somebody watches.
type session struct {
	hub    *Hub
	server string
	ctx    context.Context
	cancel context.CancelCauseFunc
	orders chan order
	done   chan struct{}

	mu      sync.Mutex
	begun   bool
	ended   bool // nobody can join any more
	viewers map[*Viewer]struct{}
	writer  *Viewer
	back    scrollback
	state   Control
	size    order
	active  time.Time
}

func newSession(h *Hub, server string) *session {
	s := &session{hub: h, server: server, orders: make(chan order, maxOrders), done: make(chan struct{}), viewers: map[*Viewer]struct{}{}, active: h.Clock.Now()}
	s.state = Control{Type: TypeState, State: StateConnecting}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// join adds a viewer. It reports false if the session ends.
func (s *session) join(v *Viewer, take bool) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false, nil
	}
	if len(s.viewers) >= maxViewers {
		return false, refuse(ReasonTooMany, "%d people watch this console, which is as many as can", maxViewers)
	}
	v.session = s
	s.viewers[v] = struct{}{}
	s.active = s.hub.Clock.Now()
	if past := s.back.all(); len(past) > 0 {
		v.push(Message{Data: past})
	}
	state := s.state
	v.push(Message{Control: &state})
	if v.mayWrite && (s.writer == nil || take) {
		s.setWriterLocked(v)
	} else {
		v.push(Message{Control: s.whoWritesLocked(v)})
	}
	if !s.begun {
		s.begun = true
		go s.run()
	}
	return true, nil
}

func (s *session) leave(v *Viewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.viewers[v]; !there {
		return
	}
	s.removeLocked(v)
}

func (s *session) removeLocked(v *Viewer) {
	delete(s.viewers, v)
	if len(s.viewers) == 0 {
		s.ended = true
		s.cancel(errLeft)
	}
	if s.writer == v {
		s.setWriterLocked(nil)
	}
}

// setWriterLocked changes who writes, and tells everybody.
func (s *session) setWriterLocked(v *Viewer) {
	s.writer = v
	for other := range s.viewers {
		s.sendLocked(other, Message{Control: s.whoWritesLocked(other)})
	}
}

func (s *session) whoWritesLocked(told *Viewer) *Control {
	c := &Control{Type: TypeWriter}
	if s.writer != nil {
		c.Writer, c.You = s.writer.name, s.writer == told
	}
	return c
}

// sendLocked drops a viewer that does not read.
func (s *session) sendLocked(v *Viewer, m Message) {
	if !v.push(m) {
		s.removeLocked(v)
	}
}

func (s *session) broadcastLocked(m Message) {
	for v := range s.viewers {
		s.sendLocked(v, m)
	}
}

// writes reports whether a viewer writes, which it does from now on if it may and nobody does.
func (s *session) writes(v *Viewer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.viewers[v]; there && s.writer == nil && v.mayWrite {
		s.setWriterLocked(v)
	}
	return s.writer == v
}

func (s *session) take(v *Viewer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.viewers[v]; !there || !v.mayWrite {
		return ErrReader
	}
	if s.writer != v {
		s.setWriterLocked(v)
	}
	return nil
}

// resize counts for whoever writes: there is one size.
func (s *session) resize(ctx context.Context, v *Viewer, columns, rows int) error {
	s.mu.Lock()
	if s.writer != v {
		s.mu.Unlock()
		return nil
	}
	s.size = order{columns: columns, rows: rows}
	s.mu.Unlock()
	return s.submit(ctx, order{columns: columns, rows: rows})
}

func (s *session) submit(ctx context.Context, o order) error {
	select {
	case s.orders <- o:
		return nil
	case <-s.done:
		return errLeft
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) stop(why error) { s.cancel(why) }

// run connects, and connects again, until nobody watches any more.
func (s *session) run() {
	defer close(s.done)
	err := s.serve()
	if s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	s.cancel(err)
	s.hub.forget(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for v := range s.viewers {
		delete(s.viewers, v)
		v.end(fmt.Errorf("console of %s: %w", s.server, err))
	}
}

func (s *session) serve() error {
	pause, opened := firstPause, false
	for {
		s.drain()
		stream, err := s.hub.Open(s.ctx, s.server)
		if err == nil {
			since := s.hub.Clock.Now()
			opened = true
			s.say(StateConnected, nil)
			err = s.pump(stream)
			if s.hub.Clock.Since(since) >= steady {
				pause = firstPause
			}
		}
		_, refused := errors.AsType[*Refusal](err)
		if s.ctx.Err() != nil || refused || !opened {
			return err
		}
		s.hub.Logger.V(1).Info("serial console lost", "name", s.server, "error", err)
		s.say(StateReconnecting, err)
		select {
		case <-s.ctx.Done():
			return nil
		case <-s.hub.Clock.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// drain forgets what was typed while there was no console: it was meant for what stood there then.
func (s *session) drain() {
	for {
		select {
		case <-s.orders:
		default:
			return
		}
	}
}

func (s *session) say(state string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = Control{Type: TypeState, State: state}
	if why != nil {
		s.state.Message = why.Error()
	}
	state2 := s.state
	s.broadcastLocked(Message{Control: &state2})
}

// pump carries bytes until the stream ends, and closes it.
func (s *session) pump(stream Stream) error {
	read := make(chan error, 1)
	go func() { read <- s.receive(stream) }()
	err := s.send(stream, read)
	_ = stream.Close()
	if err == nil {
		return <-read
	}
	<-read
	return err
}

// receive hands on what the console prints.
func (s *session) receive(stream Stream) error {
	buffer := make([]byte, 8<<10)
	for {
		n, err := stream.Read(buffer)
		if n > 0 {
			s.printed(buffer[:n])
		}
		if err != nil {
			return err
		}
	}
}

func (s *session) printed(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = s.hub.Clock.Now()
	s.back.add(p)
	s.broadcastLocked(Message{Data: p})
}

// send hands over what is typed until the stream ends by itself: then it returns nil, and read has why.
func (s *session) send(stream Stream, read chan error) error {
	s.mu.Lock()
	size := s.size
	s.mu.Unlock()
	if size.columns > 0 {
		if err := stream.Resize(size.columns, size.rows); err != nil {
			return err
		}
	}
	ticker := s.hub.Clock.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		case why := <-read:
			read <- why
			return nil
		case <-ticker.C():
			err = s.idleFor()
		case o := <-s.orders:
			err = s.carryOut(stream, o)
		}
		if err != nil {
			return err
		}
	}
}

func (s *session) carryOut(stream Stream, o order) error {
	if o.columns > 0 {
		return stream.Resize(o.columns, o.rows)
	}
	s.mu.Lock()
	s.active = s.hub.Clock.Now()
	s.mu.Unlock()
	_, err := stream.Write(o.data)
	return err
}

// idleFor ends a session in which nothing happens.
func (s *session) idleFor() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hub.Clock.Since(s.active) < idle {
		return nil
	}
	return refuse(ReasonIdle, "nothing was printed or typed for %s", idle)
}
