package console_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/console"
)

// recorder is a Recorder whose lines the test reads.
type recorder struct {
	*console.Recorder
	lines chan console.Line
	stop  func()
}

func newRecorder(t *testing.T, h *hub, c clock.WithTicker) *recorder {
	t.Helper()
	r := &recorder{lines: make(chan console.Line, 1000)}
	r.Recorder = &console.Recorder{Hub: h.Hub, Clock: c, Logger: logr.Discard(), Write: func(l console.Line) { r.lines <- l }}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	ended := false
	r.stop = func() {
		if !ended {
			ended = true
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(r.stop)
	return r
}

// next is the next line that was written.
func (r *recorder) next(t *testing.T) console.Line {
	t.Helper()
	select {
	case l := <-r.lines:
		return l
	case <-t.Context().Done():
		t.Fatal("no line was written")
	}
	return console.Line{}
}

// rest are those that were written when nothing is recorded any more.
func (r *recorder) rest() (lines []console.Line) {
	r.stop()
	close(r.lines)
	for l := range r.lines {
		lines = append(lines, l)
	}
	return lines
}

// TestRecorder: lines of a boot as they come, as plain text; those of the next boot under its name.
func TestRecorder(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	h := newHub(t, now)
	r := newRecorder(t, h, now)
	serial := newLine()
	h.lines <- serial
	person, err := h.Join(t.Context(), "node-7", "somebody", false, false) // watches all the time
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	if got := <-h.opens; got != "node-7" {
		t.Fatalf("the console of %s", got)
	}
	serial.prints(t, "long ago\n")
	for text := ""; !strings.Contains(text, "long ago"); {
		m, err := person.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text += string(m.Data)
	}
	r.begins(t, h, "a1")
	r.Begin("node-7", "a1") // told twice
	serial.prints(t, "\x1b[2J\x1b[1;1HiPXE 1.21\tinitialising\r\n\r\n\x1b]0;evil\x07net0: 52:54\r\n")
	for _, want := range []string{"iPXE 1.21 initialising", "net0: 52:54"} {
		if l := r.next(t); l.Text != want || l.Server != "node-7" || l.Attempt != "a1" || !l.Time.Equal(now.Now()) {
			t.Errorf("%+v, want %q", l, want)
		}
	}
	serial.prints(t, "http://boot/ignition/7?token=EI5TL_-17&x=1... ok\r\n[0.0] Command line: a=http://boot/i?token=EI5TL_-17 quiet token=mine\n")
	for _, want := range []string{"http://boot/ignition/7?token=[redacted]&x=1... ok", "[0.0] Command line: a=http://boot/i?token=[redacted] quiet token=mine"} {
		if l := r.next(t); l.Text != want {
			t.Errorf("%q is written, want %q", l.Text, want)
		}
	}
	serial.prints(t, strings.Repeat("x", 1500))
	if l := r.next(t); len(l.Text) != 1024 {
		t.Errorf("a line that does not end is cut after %d bytes", len(l.Text))
	}
	serial.prints(t, "\n")
	if l := r.next(t); len(l.Text) != 1500-1024 {
		t.Errorf("and then it is %q", l.Text)
	}
	r.begins(t, h, "a2")
	serial.prints(t, "again\n")
	if l := r.next(t); l.Text != "again" || l.Attempt != "a2" {
		t.Errorf("in the next boot: %+v", l)
	}
}

// begins has a boot recorded, and returns when it is: when the console has a viewer that it had not, and beside it somebody alone.
func (r *recorder) begins(t *testing.T, h *hub, attempt string) {
	t.Helper()
	before := h.Viewers("node-7")
	r.Begin("node-7", attempt)
	for {
		now := h.Viewers("node-7")
		isNew := func(v *console.Viewer) bool { _, there := before[v]; return !there }
		if len(now) == 2 && slices.ContainsFunc(slices.Collect(maps.Keys(now)), isNew) {
			return
		}
		runtime.Gosched()
	}
}

// TestARecordingIsBounded: of a boot that prints a lot the beginning and the end are written, and how much is left out.
func TestARecordingIsBounded(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	h := newHub(t, now)
	r := newRecorder(t, h, now)
	serial := newLine()
	h.lines <- serial
	r.Begin("node-7", "a1")
	<-h.opens
	for i := range 1000 {
		serial.prints(t, fmt.Sprintf("line %d\n", i))
	}
	serial.prints(t, "the end")
	first := []console.Line{}
	for range 150 {
		first = append(first, r.next(t))
	}
	now.SetTime(now.Now().Add(16 * time.Minute)) // it is over by itself
	<-serial.gone
	lines := append(first, r.rest()...)
	if len(lines) != 200 || lines[149].Text != "line 149" || lines[150].Left == 0 || lines[199].Text != "the end" {
		t.Fatalf("%d lines, the last %+v", len(lines), lines[len(lines)-1])
	}
	if left := 1001 - 200; lines[150].Left != left || slices.ContainsFunc(lines[151:], func(l console.Line) bool { return l.Left != 0 }) {
		t.Errorf("%d are said to be left out, want %d", lines[150].Left, left)
	}
}

// TestARecorderDoesNotTakeAllSessions: nor does it begin one when it ends.
func TestARecorderDoesNotTakeAllSessions(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	h := newHub(t, now)
	r := newRecorder(t, h, now)
	for i := range 40 {
		r.Begin(fmt.Sprintf("node-%d", i), "a1")
	}
	for range 32 {
		<-h.opens
	}
	if n := h.Sessions(); n != 32 {
		t.Errorf("%d sessions", n)
	}
	if lines := r.rest(); len(lines) != 0 {
		t.Errorf("written: %v", lines)
	}
	r.Begin("node-50", "a1")
	if n := h.Sessions(); n != 0 && len(h.opens) > 0 {
		t.Errorf("%d sessions after its end", n)
	}
}
