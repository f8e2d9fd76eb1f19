package console_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/console"
)

// line is a serial line in memory: the test prints and sees what is typed.
type line struct {
	out   *io.PipeReader
	print *io.PipeWriter
	typed chan string
	sizes chan [2]int
	gone  chan struct{}
	once  sync.Once
}

func newLine() *line {
	l := &line{typed: make(chan string, 1024), sizes: make(chan [2]int, 16), gone: make(chan struct{})}
	l.out, l.print = io.Pipe()
	return l
}

func (l *line) Read(p []byte) (int, error)       { return l.out.Read(p) }
func (l *line) Write(p []byte) (int, error)      { l.typed <- string(p); return len(p), nil }
func (l *line) Resize(columns, rows int) error   { l.sizes <- [2]int{columns, rows}; return nil }
func (l *line) Close() error                     { l.once.Do(func() { close(l.gone); _ = l.out.Close() }); return nil }
func (l *line) prints(t *testing.T, text string) { t.Helper(); l.write(t, []byte(text)) }
func (l *line) breaks()                          { _ = l.print.CloseWithError(errors.New("the cable is out")) }
func (l *line) write(t *testing.T, content []byte) {
	t.Helper()
	if _, err := l.print.Write(content); err != nil {
		t.Error(err)
	}
}

// hub is a Hub whose consoles are lines that the test hands out.
type hub struct {
	*console.Hub
	lines chan any // a *line or an error, for each time that a console is opened
	opens chan string
}

func newHub(t *testing.T, c clock.WithTicker) *hub {
	t.Helper()
	h := &hub{lines: make(chan any, 16), opens: make(chan string, 16)}
	h.Hub = &console.Hub{Clock: c, Logger: logr.Discard(), Open: func(ctx context.Context, server string) (console.Stream, error) {
		h.opens <- server
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case next := <-h.lines:
			if err, failed := next.(error); failed {
				return nil, err
			}
			return next.(*line), nil
		}
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil || h.Sessions() != 0 {
			t.Errorf("Run: %v, %d sessions are left", err, h.Sessions())
		}
	})
	return h
}

// who is a viewer under the eyes of a test.
type who struct {
	*console.Viewer
	t        *testing.T
	seen     bytes.Buffer
	controls []console.Control
}

func (h *hub) join(t *testing.T, name string, write, take bool) *who {
	t.Helper()
	v, err := h.Join(t.Context(), "node-7", name, write, take)
	if err != nil {
		t.Fatal(err)
	}
	return &who{Viewer: v, t: t}
}

// next takes one message.
func (w *who) next() error {
	m, err := w.Next(w.t.Context())
	if err != nil {
		return err
	}
	if w.seen.Write(m.Data); m.Control != nil {
		w.controls = append(w.controls, *m.Control)
	}
	return nil
}

// sees reads until a text was printed.
func (w *who) sees(want string) {
	w.t.Helper()
	for !strings.Contains(w.seen.String(), want) {
		if err := w.next(); err != nil {
			w.t.Fatalf("waiting for %q: %v; seen %q", want, err, w.seen.String())
		}
	}
}

// told reads until it was told something.
func (w *who) told(what func(console.Control) bool) console.Control {
	w.t.Helper()
	for read := 0; ; {
		for ; read < len(w.controls); read++ {
			if c := w.controls[read]; what(c) {
				w.controls = w.controls[read+1:]
				return c
			}
		}
		if err := w.next(); err != nil {
			w.t.Fatalf("%v; told %+v", err, w.controls)
		}
	}
}

// ends reads until there is no more, and returns why.
func (w *who) ends() error {
	for {
		if err := w.next(); err != nil {
			return err
		}
	}
}

func writer(name string, you bool) func(console.Control) bool {
	return func(c console.Control) bool { return c.Type == console.TypeWriter && c.Writer == name && c.You == you }
}

func state(s string) func(console.Control) bool {
	return func(c console.Control) bool { return c.Type == console.TypeState && c.State == s }
}

func (w *who) types(text string) error { return w.Type(w.t.Context(), []byte(text)) }

// TestOneWritesAndOthersRead: the first who may writes, the others are told who does; a take-over is asked for, and the size is the writer's.
func TestOneWritesAndOthersRead(t *testing.T) {
	h, l := newHub(t, clock.RealClock{}), newLine()
	h.lines <- l
	guest := h.join(t, "guest", false, true)
	guest.told(writer("", false))
	guest.told(state(console.StateConnected)) // or it would come before or after what others are told first
	alice := h.join(t, "alice", true, false)
	alice.told(state(console.StateConnected))
	alice.told(writer("alice", true))
	bob := h.join(t, "bob", true, false)
	bob.told(writer("alice", false))
	guest.told(writer("alice", false))
	l.prints(t, "login: ")
	for _, w := range []*who{guest, alice, bob} {
		w.sees("login: ")
	}
	if err := errors.Join(alice.types("a"), alice.Control(t.Context(), console.Control{Type: console.TypeResize, Columns: 100, Rows: 30}), bob.Control(t.Context(), console.Control{Type: console.TypeResize, Columns: 1, Rows: 1})); err != nil {
		t.Fatal(err)
	}
	if typed, size := <-l.typed, <-l.sizes; typed != "a" || size != [2]int{100, 30} {
		t.Errorf("typed %q, size %v", typed, size)
	}
	if a, b := bob.types("b"), guest.Control(t.Context(), console.Control{Type: console.TypeTake}); !errors.Is(a, console.ErrReader) || !errors.Is(b, console.ErrReader) {
		t.Errorf("a reader types: %v; one who may not takes over: %v", a, b)
	}
	if err := bob.Control(t.Context(), console.Control{Type: console.TypeTake}); err != nil {
		t.Fatal(err)
	}
	alice.told(writer("bob", false))
	bob.told(writer("bob", true))
	if err := bob.types("c"); err != nil || <-l.typed != "c" {
		t.Errorf("who took over types: %v", err)
	}
	bob.Close()
	alice.told(writer("", false))
	if err := alice.types("d"); err != nil || <-l.typed != "d" {
		t.Errorf("nobody writes, and who may types: %v", err)
	}
	carol := h.join(t, "carol", true, true)
	carol.sees("login: ") // the scroll-back
	alice.told(writer("carol", false))
	for _, w := range []*who{carol, alice} {
		w.Close()
	}
	select {
	case <-l.gone:
		t.Error("the session ends while a guest watches")
	default:
	}
	guest.Close()
	<-l.gone
}

// TestASessionForWhoeverComesNext: the old one has ended before the next begins, and nothing of it is seen.
func TestASessionForWhoeverComesNext(t *testing.T) {
	h, first, second := newHub(t, clock.RealClock{}), newLine(), newLine()
	h.lines <- first
	alice := h.join(t, "alice", true, false)
	alice.told(state(console.StateConnected))
	first.prints(t, "secret of the first")
	alice.sees("first")
	alice.Close()
	h.lines <- second
	bob := h.join(t, "bob", true, false)
	bob.told(state(console.StateConnected))
	<-first.gone
	second.prints(t, "second")
	bob.sees("second")
	if strings.Contains(bob.seen.String(), "first") {
		t.Errorf("bob sees %q", bob.seen.String())
	}
}

// TestWhoDoesNotReadIsDropped: a flood ends for who does not read, and reaches who does, whole.
func TestWhoDoesNotReadIsDropped(t *testing.T) {
	h, l := newHub(t, clock.RealClock{}), newLine()
	h.lines <- l
	reads, sleeps := h.join(t, "reads", true, false), h.join(t, "sleeps", true, true)
	reads.told(state(console.StateConnected))
	flood := bytes.Repeat([]byte("0123456789abcde\n"), 512)
	total := 0
	for range 256 {
		l.write(t, flood)
		total += len(flood)
		for reads.seen.Len() < total {
			if err := reads.next(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := reads.seen.Bytes(); !bytes.Equal(got, bytes.Repeat(flood, 256)) {
		t.Errorf("%d bytes arrive, want %d", len(got), total)
	}
	refusal, ok := errors.AsType[*console.Refusal](sleeps.ends())
	if !ok || refusal.Reason != console.ReasonSlow {
		t.Errorf("who does not read: %v", refusal)
	}
	if err := reads.types("x"); err != nil || <-l.typed != "x" {
		t.Errorf("the writer was dropped, and the next types: %v", err)
	}
	reads.Close()
	sleeps.Close()
}

// TestABMCThatDropsTheConsole is connected to again, later each time; what was typed meanwhile is not typed to what stands there then.
func TestABMCThatDropsTheConsole(t *testing.T) {
	c := newClock()
	h, first, second := newHub(t, c), newLine(), newLine()
	h.lines <- first
	alice := h.join(t, "alice", true, false)
	alice.told(state(console.StateConnected))
	<-h.opens
	first.breaks()
	if lost := alice.told(state(console.StateReconnecting)); !strings.Contains(lost.Message, "the cable is out") {
		t.Errorf("told %+v", lost)
	}
	if err := alice.types("rm -r "); err != nil {
		t.Fatal(err)
	}
	h.lines <- errors.New("refused")
	h.lines <- second
	for _, pause := range []time.Duration{time.Second, 2 * time.Second} {
		c.waitedFor(pause)
		c.Step(pause)
		<-h.opens
	}
	alice.told(state(console.StateConnected))
	if err := alice.types("ls"); err != nil {
		t.Fatal(err)
	}
	if typed := <-second.typed; typed != "ls" {
		t.Errorf("typed %q", typed)
	}
	alice.Close()
	<-second.gone
}

// TestWhatEndsAConsole: a refusal, at the start or later, ends it for all with the reason; so does a first attempt that fails.
func TestWhatEndsAConsole(t *testing.T) {
	refusal := &console.Refusal{Reason: console.ReasonPasswordRefused, Err: errors.New("BMC b: no")}
	for name, err := range map[string]error{"refused": refusal, "unreachable": errors.New("BMC b: no")} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, clock.RealClock{})
			h.lines <- err
			alice := h.join(t, "alice", true, false)
			if got := alice.ends(); !errors.Is(got, err) || !strings.Contains(got.Error(), "console of node-7: BMC b: no") {
				t.Errorf("it ends with %v", got)
			}
			alice.Close()
		})
	}
	h, l := newHub(t, clock.RealClock{}), newLine()
	h.lines <- l
	alice := h.join(t, "alice", true, false)
	alice.told(state(console.StateConnected))
	_ = l.print.CloseWithError(refusal)
	if got := alice.ends(); !errors.Is(got, refusal) {
		t.Errorf("it ends with %v", got)
	}
}

// TestAnIdleConsoleEnds: a session that nobody uses is not kept from others.
func TestAnIdleConsoleEnds(t *testing.T) {
	c := newClock()
	h, l := newHub(t, c), newLine()
	h.lines <- l
	alice := h.join(t, "alice", true, false)
	alice.told(state(console.StateConnected))
	c.waitedFor(time.Minute)
	c.Step(31 * time.Minute)
	refusal, _ := errors.AsType[*console.Refusal](alice.ends())
	if refusal == nil || refusal.Reason != console.ReasonIdle {
		t.Errorf("it ends with %v", refusal)
	}
	<-l.gone
}

// TestNotEverybodyCanWatch: there is an end to viewers.
func TestNotEverybodyCanWatch(t *testing.T) {
	h, l := newHub(t, clock.RealClock{}), newLine()
	h.lines <- l
	for {
		_, err := h.Join(t.Context(), "node-7", "x", false, false)
		if refusal, ok := errors.AsType[*console.Refusal](err); ok {
			if refusal.Reason != console.ReasonTooMany {
				t.Error(err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzControl(f *testing.F) {
	f.Add([]byte(`{"type":"resize","columns":80,"rows":24}`))
	f.Add([]byte(`{"type":"take"} {}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := console.ParseControl(text)
		if err == nil && len(c.Type) > len(text) {
			t.Errorf("%q is longer than what it was read from", c.Type)
		}
	})
}

// TestPlain: nothing that controls a terminal is left, and nothing else is lost.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31;1mred\x1b[0m b\r\n":             "ared b\n",
		"\x1b]0;title\x07x\x1bP1$q\x1b\\y\u202ez": "xyz",
		"\x1b(B\x9b31mtab\t\x00":                  "\uFFFD31mtab\t",
		"cut \x1b[3":                              "cut ",
	} {
		if got := console.Plain(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
