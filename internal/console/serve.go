package console

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"
)

const (
	// sendTimeout is for one message to a viewer.
	sendTimeout = 15 * time.Second
	// pingEvery is how often a viewer is asked whether it is there, pongWait how long it may say nothing.
	pingEvery = 25 * time.Second
	pongWait  = 75 * time.Second
	// recheckEvery is how often it is asked again whether a viewer still may.
	recheckEvery = 5 * time.Minute
	// Of what is typed, a line of 115,200 baud takes 11,520 bytes a second. A message costs messageCost beside its bytes.
	typedPerSecond = 16 << 10
	typedBurst     = 64 << 10
	messageCost    = 64
)

// Access is what somebody may do, which whoever serves the request has found out.
type Access struct {
	// User is shown to others who watch.
	User string
	// Write lets the viewer write, Take have it do so in place of somebody else from the start.
	Write, Take bool
	// Recheck says after a while whether that is still so; nil: it is.
	Recheck func(context.Context) error
}

var upgrader = websocket.Upgrader{ // it refuses pages of other origins
	HandshakeTimeout: sendTimeout, ReadBufferSize: 4 << 10, WriteBufferSize: 8 << 10, Subprotocols: []string{Protocol},
}

// Serve has the WebSocket of a request watch the console of a server, until either ends.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, server string, access Access) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context())) // the request has a deadline, the console has none
	defer cancel(nil)
	s := &socket{conn: conn, limit: rate.NewLimiter(typedPerSecond, typedBurst)}
	defer conn.Close()
	viewer, err := h.Join(ctx, server, access.User, access.Write, access.Take)
	if err != nil {
		s.bye(err)
		return
	}
	defer viewer.Close()
	var running sync.WaitGroup
	defer func() {
		cancel(nil)
		_ = conn.Close()
		running.Wait()
	}()
	running.Go(func() { cancel(s.receive(ctx, viewer)) })
	running.Go(func() { h.look(ctx, cancel, s, access) })
	s.bye(s.send(ctx, viewer))
}

// look asks now and then whether the viewer is there, and still may be.
func (h *Hub) look(ctx context.Context, cancel context.CancelCauseFunc, s *socket, access Access) {
	ping, again := h.Clock.NewTicker(pingEvery), h.Clock.NewTicker(recheckEvery)
	defer ping.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C():
			_ = s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(sendTimeout)) // its pong is missed
		case <-again.C():
			if access.Recheck == nil {
				continue
			}
			if err := access.Recheck(ctx); err != nil {
				cancel(refuse(ReasonForbidden, "the right to this console has ended: %w", err))
				return
			}
		}
	}
}

// socket is the WebSocket of a viewer.
type socket struct {
	conn  *websocket.Conn
	limit *rate.Limiter
	// writing is held by whoever sends.
	writing sync.Mutex
}

// send tells the viewer what there is, and returns why there is no more.
func (s *socket) send(ctx context.Context, v *Viewer) error {
	for {
		m, err := v.Next(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if err := s.write(m); err != nil {
			return err
		}
	}
}

func (s *socket) write(m Message) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	if m.Control != nil {
		return s.conn.WriteJSON(m.Control)
	}
	return s.conn.WriteMessage(websocket.BinaryMessage, m.Data)
}

// bye says why it ends.
func (s *socket) bye(why error) {
	if errors.Is(why, errLeft) || why == nil {
		return
	}
	_ = s.write(Message{Control: &Control{Type: TypeError, Reason: reasonOf(why), Message: why.Error()}}) // it may be gone
	_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.ClosePolicyViolation, reasonOf(why)), time.Now().Add(sendTimeout))
}

// receive hands over what the viewer types, as fast as a serial line takes it.
func (s *socket) receive(ctx context.Context, v *Viewer) error {
	s.conn.SetReadLimit(maxFrame)
	alive := func(string) error { return s.conn.SetReadDeadline(time.Now().Add(pongWait)) }
	s.conn.SetPongHandler(alive)
	for {
		if err := alive(""); err != nil {
			return errLeft
		}
		kind, data, err := s.conn.ReadMessage()
		if err != nil {
			return errLeft
		}
		if s.limit.WaitN(ctx, len(data)+messageCost) != nil {
			return errLeft
		}
		if err := s.handle(ctx, v, kind, data); errors.Is(err, ErrReader) {
			err = s.write(Message{Control: &Control{Type: TypeReader, Message: ErrReader.Error()}})
			if err != nil {
				return errLeft
			}
		} else if err != nil {
			return err
		}
	}
}

func (s *socket) handle(ctx context.Context, v *Viewer, kind int, data []byte) error {
	if kind == websocket.BinaryMessage {
		return v.Type(ctx, data)
	}
	c, err := ParseControl(data)
	if err != nil {
		return refuse(ReasonForbidden, "%w", err)
	}
	if err := v.Control(ctx, c); errors.Is(err, ErrReader) {
		return err
	} else if err != nil {
		return refuse(ReasonForbidden, "%w", err)
	}
	return nil
}
