package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/console"
	"github.com/farrier-dev/farrier/internal/printable"
)

const (
	// firstPause and lastPause are how long is waited before a connection that broke is made again.
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// maxMessage is the longest message of the server: the scroll-back and what follows it.
	maxMessage = 1 << 20
	// silence is how long the server may say nothing: it asks every 25 seconds whether somebody is there.
	silence     = 90 * time.Second
	sendTimeout = 15 * time.Second
)

// Terminal connects a terminal, or two pipes, with a console.
type Terminal struct {
	Server string
	// In is typed; nil: nothing is. Out gets what the console prints, as it is if Raw, else without what controls terminals. Notes get what the command says.
	In         io.Reader
	Out, Notes io.Writer
	Raw        bool
	// ReadOnly sends nothing of what is typed, which then is for the command alone.
	ReadOnly bool
	// Dial connects. Final says of its errors, after the first success too, that another attempt is of no use.
	Dial  func(context.Context) (*websocket.Conn, error)
	Final func(error) bool
	// Size is that of the terminal, Resized tells that it has changed; nil: there is none.
	Size    func() (columns, rows int, err error)
	Resized <-chan struct{}
	Timeout time.Duration
	Clock   clock.Clock

	keys    keys
	writing sync.Mutex
	pending []byte // of a line that has not ended, where the output is no terminal
}

// Late says that the console was not there in time.
type Late struct{ After time.Duration }

func (l *Late) Error() string {
	return fmt.Sprintf("--timeout: the console was not connected within %s", l.After)
}

// ExitAs tells a shell that it was too early.
func (*Late) ExitAs() int { return 3 }

// Ended is why the server ended the console.
type Ended struct{ Reason, Message string }

func (e *Ended) Error() string { return e.Message }

var (
	errQuit = errors.New("left")
	errLost = errors.New("the connection to Farrier broke")
)

// Run returns when the person leaves, or the console has ended.
func (t *Terminal) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	typed := t.read(ctx)
	ready := make(chan struct{})
	go func() {
		select {
		case <-t.Clock.After(t.Timeout):
			cancel(&Late{t.Timeout})
		case <-ready:
		case <-ctx.Done():
		}
	}()
	defer t.flush()
	err := t.keepUp(ctx, typed, sync.OnceFunc(func() { close(ready) }))
	late, isLate := errors.AsType[*Late](context.Cause(ctx))
	switch {
	case errors.Is(err, errQuit):
		return nil
	case isLate:
		return late
	case ctx.Err() != nil:
		return nil // somebody has ended the command
	}
	return err
}

// keepUp connects again and again.
func (t *Terminal) keepUp(ctx context.Context, typed <-chan []byte, ready func()) error {
	pause, was := firstPause, false
	for {
		conn, err := t.Dial(ctx)
		if err == nil {
			was = true
			since := t.Clock.Now()
			err = t.talk(ctx, conn, typed, ready)
			if t.Clock.Since(since) > lastPause {
				pause = firstPause
			}
			if !errors.Is(err, errLost) {
				return err
			}
		} else if !was || t.Final(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.note("%v; trying again in %s (Enter ~ . leaves)", err, pause)
		if err := t.waitFor(ctx, pause, typed); err != nil {
			return err
		}
		pause = min(2*pause, lastPause)
	}
}

// waitFor waits, and hears only whether the person leaves.
func (t *Terminal) waitFor(ctx context.Context, pause time.Duration, typed <-chan []byte) error {
	after := t.Clock.After(pause)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-after:
			return nil
		case p, more := <-typed:
			if !more {
				typed = nil
			}
			if _, what, _ := t.keys.read(p); what == quit {
				return errQuit
			}
		}
	}
}

// read hands over what is typed, until the input ends.
func (t *Terminal) read(ctx context.Context) <-chan []byte {
	if t.In == nil {
		return nil
	}
	typed := make(chan []byte)
	go func() { // a terminal cannot be told to stop waiting: this ends with the program
		defer close(typed)
		for {
			buffer := make([]byte, 4<<10)
			n, err := t.In.Read(buffer)
			if n > 0 {
				select {
				case typed <- buffer[:n]:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return typed
}

// talk is one connection.
func (t *Terminal) talk(ctx context.Context, conn *websocket.Conn, typed <-chan []byte, ready func()) error {
	heard := make(chan error, 1)
	var running sync.WaitGroup
	defer running.Wait()
	defer conn.Close()
	running.Go(func() { heard <- t.hear(conn, ready) })
	if err := t.resize(conn); err != nil {
		return <-heard
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-heard:
			return err
		case <-t.Resized:
			err = t.resize(conn)
		case p, more := <-typed:
			if !more {
				typed = nil // whoever reads still does
				continue
			}
			err = t.typed(conn, p)
		}
		if errors.Is(err, errQuit) {
			return err
		}
		if err != nil {
			return <-heard // which knows more
		}
	}
}

// typed sends what was typed, and does what the command was asked for.
func (t *Terminal) typed(conn *websocket.Conn, p []byte) error {
	for {
		send, what, rest := t.keys.read(p)
		if len(send) > 0 && !t.ReadOnly {
			if err := t.send(conn, websocket.BinaryMessage, send); err != nil {
				return err
			}
		}
		switch what {
		case quit:
			return errQuit
		case help:
			t.note("%s", strings.TrimSpace(Help))
		case take:
			if err := t.control(conn, console.Control{Type: console.TypeTake}); err != nil {
				return err
			}
		}
		if p = rest; len(p) == 0 {
			return nil
		}
	}
}

func (t *Terminal) resize(conn *websocket.Conn) error {
	if t.Size == nil {
		return nil
	}
	columns, rows, err := t.Size()
	if err != nil || columns < 1 || rows < 1 {
		return nil //nolint:nilerr // without a size the console has that of its BMC
	}
	return t.control(conn, console.Control{Type: console.TypeResize, Columns: min(columns, 1000), Rows: min(rows, 1000)})
}

func (t *Terminal) control(conn *websocket.Conn, c console.Control) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return t.send(conn, websocket.TextMessage, text)
}

func (t *Terminal) send(conn *websocket.Conn, kind int, p []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	return conn.WriteMessage(kind, p)
}

// hear prints what comes, and returns why nothing more does.
func (t *Terminal) hear(conn *websocket.Conn, ready func()) error {
	conn.SetReadLimit(maxMessage)
	pong := conn.PingHandler()
	conn.SetPingHandler(func(text string) error {
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		return pong(text)
	})
	for {
		if err := conn.SetReadDeadline(time.Now().Add(silence)); err != nil {
			return errLost
		}
		kind, p, err := conn.ReadMessage()
		if err != nil {
			return errLost
		}
		if kind == websocket.BinaryMessage {
			if err := t.print(p); err != nil {
				return err
			}
			continue
		}
		c, err := console.ParseControl(p)
		if err != nil {
			return err
		}
		if c.Type == console.TypeState && c.State == console.StateConnected {
			ready()
		}
		if err := t.told(c); err != nil {
			return err
		}
	}
}

// told says what a message says.
func (t *Terminal) told(c console.Control) error {
	switch {
	case c.Type == console.TypeError && c.Reason == console.ReasonStopped:
		return errLost // another Farrier takes over, or this one starts again
	case c.Type == console.TypeError:
		return &Ended{c.Reason, printable.Line(c.Message)}
	case c.Type == console.TypeReader:
		t.note("%s (Enter ~ w takes over)", c.Message)
	case c.Type == console.TypeState && c.State == console.StateConnected:
		t.note("connected to the console of %s (Enter ~ . leaves, Enter ~ ? helps)", t.Server)
	case c.Type == console.TypeState:
		t.note("%s %s", c.State, c.Message)
	case c.Type == console.TypeWriter && c.You:
		t.note("you write")
	case c.Type == console.TypeWriter && c.Writer != "":
		t.note("%s writes, you read", c.Writer)
	}
	return nil
}

// print shows what the console printed.
func (t *Terminal) print(p []byte) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.Raw {
		_, err := t.Out.Write(p)
		return err
	}
	t.pending = append(t.pending, p...)
	end := bytes.LastIndexByte(t.pending, '\n') + 1
	if end == 0 && len(t.pending) < maxMessage {
		return nil
	}
	if end == 0 {
		end = len(t.pending)
	}
	_, err := io.WriteString(t.Out, console.Plain(string(t.pending[:end])))
	t.pending = append(t.pending[:0], t.pending[end:]...)
	return err
}

// flush prints a last line that has no end.
func (t *Terminal) flush() {
	t.writing.Lock()
	defer t.writing.Unlock()
	if len(t.pending) > 0 {
		_, _ = io.WriteString(t.Out, console.Plain(string(t.pending))+"\n")
		t.pending = nil
	}
}

// note tells something of the command itself.
func (t *Terminal) note(format string, values ...any) {
	t.writing.Lock()
	defer t.writing.Unlock()
	end := "\n"
	if t.Raw {
		end = "\r\n"
	}
	for line := range strings.Lines(fmt.Sprintf(format, values...)) {
		_, _ = fmt.Fprintf(t.Notes, "%s[farrier] %s%s", strings.TrimSuffix(end, "\n"), strings.TrimRight(printable.Line(line), " "), end)
	}
}
