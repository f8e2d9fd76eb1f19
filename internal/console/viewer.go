package console

import (
	"context"
	"errors"
	"sync"
)

// maxQueued is how many bytes wait for a viewer before it is dropped, and maxMessages how many messages.
const (
	maxQueued   = 512 << 10
	maxMessages = 1 << 10
)

var (
	// ErrReader says that a viewer typed who does not write.
	ErrReader = errors.New("you read only; somebody else writes, or you may not")
	errSlow   = &Refusal{ReasonSlow, errors.New("you do not read fast enough")}
	errLeft   = errors.New("left")
)

// Viewer watches the console of a server, and may write to it.
type Viewer struct {
	name     string
	mayWrite bool
	session  *session

	mu     sync.Mutex
	queue  []Message
	queued int
	err    error         // why it has ended
	wake   chan struct{} // capacity 1
}

// Next returns the next message. Its error is why the viewer has ended, once all messages were returned.
func (v *Viewer) Next(ctx context.Context) (Message, error) {
	for {
		v.mu.Lock()
		if len(v.queue) > 0 {
			m := v.queue[0]
			v.queue[0] = Message{}
			v.queue = v.queue[1:]
			v.queued -= len(m.Data)
			v.mu.Unlock()
			return m, nil
		}
		err := v.err
		v.mu.Unlock()
		if err != nil {
			return Message{}, err
		}
		select {
		case <-ctx.Done():
			return Message{}, ctx.Err()
		case <-v.wake:
		}
	}
}

// push queues a message, and reports whether there was room.
func (v *Viewer) push(m Message) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return true
	}
	last := len(v.queue) - 1
	switch {
	case v.queued+len(m.Data) > maxQueued || len(v.queue) >= maxMessages:
		v.queue, v.queued, v.err = nil, 0, errSlow
	case m.Data != nil && last >= 0 && v.queue[last].Data != nil && len(v.queue[last].Data) < maxFrame:
		v.queue[last].Data = append(v.queue[last].Data, m.Data...)
		v.queued += len(m.Data)
	default:
		m.Data = append([]byte(nil), m.Data...) // what is appended to must be nobody else's
		if len(m.Data) == 0 {
			m.Data = nil
		}
		v.queue = append(v.queue, m)
		v.queued += len(m.Data)
	}
	v.signal()
	return v.err == nil
}

// end is the last that a viewer is told.
func (v *Viewer) end(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		v.err = err
	}
	v.signal()
}

func (v *Viewer) signal() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Type sends what a person typed. The first who types while nobody writes is the one who writes from then on.
func (v *Viewer) Type(ctx context.Context, p []byte) error {
	if !v.session.writes(v) {
		return ErrReader
	}
	return v.session.submit(ctx, order{data: p})
}

// Control does what a viewer's message asks for.
func (v *Viewer) Control(ctx context.Context, c Control) error {
	if err := c.fromViewer(); err != nil {
		return err
	}
	if c.Type == TypeTake {
		return v.session.take(v)
	}
	return v.session.resize(ctx, v, c.Columns, c.Rows)
}

// Close leaves. The session ends with its last viewer.
func (v *Viewer) Close() {
	v.session.leave(v)
	v.end(errLeft)
}
