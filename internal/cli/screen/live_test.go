package screen

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// source is something whose news a test gives out. Those that begin with "quiet" happen, and are not told.
type source struct {
	mu      sync.Mutex
	news    []string
	picture []string
	changed chan struct{}
}

func newSource() *source { return &source{changed: make(chan struct{})} }

func (s *source) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *source) News(n int) (lines []string, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.news[n:] {
		if !strings.HasPrefix(line, "quiet") {
			lines = append(lines, line)
		}
	}
	return lines, len(s.news)
}

func (s *source) Draw(columns, height int, _ Paint) []string {
	return append([]string{fmt.Sprintf("%dx%d", columns, height)}, s.picture...)
}

func (s *source) tell(news ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news = append(s.news, news...)
	close(s.changed)
	s.changed = make(chan struct{})
}

// pipe is a terminal or a file: it hands every write to the test.
type pipe chan string

func (p pipe) Write(b []byte) (int, error) {
	p <- string(b)
	return len(b), nil
}

func TestLiveLines(t *testing.T) {
	src, out := newSource(), make(pipe, 16)
	live := &Live{Out: out, Source: src, Clock: clocktesting.NewFakeClock(noon), Paint: true}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		live.Run(ctx)
	}()
	src.tell("one server is Available", "quiet: an Endpoint")
	if got, want := <-out, "one server is Available\n"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	cancel()
	<-done

	// What came with the end is still told.
	src.tell("power Off")
	ended, end := context.WithCancel(t.Context())
	end()
	live.Run(ended)
	if got, want := <-out, "power Off\n"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
}

// hasty is a clock whose timers fire at once.
type hasty struct{ clock.Clock }

func (hasty) NewTimer(time.Duration) clock.Timer {
	c := clocktesting.NewFakeClock(noon)
	timer := c.NewTimer(time.Second)
	c.Step(time.Second)
	return timer
}

func TestLivePicture(t *testing.T) {
	src, out := newSource(), make(pipe)
	src.picture = []string{"a", "b"}
	live := &Live{Out: out, Source: src, Clock: hasty{}, Size: func() (int, int) { return 80, 24 }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		live.Run(ctx)
	}()
	lines := src.Draw(80, 24, false)
	if diff := cmp.Diff(over(0, lines), <-out); diff != "" {
		t.Errorf("first frame (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(over(len(lines), lines), <-out); diff != "" {
		t.Errorf("second frame (-want +got):\n%s", diff)
	}
	cancel()
	for {
		select {
		case <-out: // the last frame, perhaps one more
		case <-done:
			return
		}
	}
}

func TestOver(t *testing.T) {
	if got, want := over(0, []string{"a"}), "a\x1b[K\n\x1b[J"; got != want {
		t.Errorf("first frame %q, want %q", got, want)
	}
	if got, want := over(3, []string{"a", "b"}), "\x1b[3Fa\x1b[K\nb\x1b[K\n\x1b[J"; got != want {
		t.Errorf("next frame %q, want %q", got, want)
	}
}

// A terminal shows each frame where the last one was: replaying the bytes leaves one frame.
func TestFramesReplaceEachOther(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(over(0, []string{"one", "two", "three"}))
	out.WriteString(over(3, []string{"eins"}))
	if got, want := replay(out.String()), "eins\n"; got != want {
		t.Errorf("the screen shows %q, want %q", got, want)
	}
}

// replay is a terminal that knows CPL, EL and ED.
func replay(bytes string) string {
	var rows []string
	row := 0
	at := func() {
		for len(rows) <= row {
			rows = append(rows, "")
		}
	}
	for rest := bytes; rest != ""; {
		at()
		switch {
		case strings.HasPrefix(rest, "\x1b[K"):
			rest = rest[3:]
		case strings.HasPrefix(rest, "\x1b[J"):
			rows, rest = rows[:row], rest[3:]
		case strings.HasPrefix(rest, "\x1b[3F"):
			row, rest = row-3, rest[4:]
			rows[row] = ""
		case rest[0] == '\n':
			row++
			at()
			rows[row], rest = "", rest[1:]
		default:
			rows[row] += rest[:1]
			rest = rest[1:]
		}
	}
	return strings.Join(rows, "\n") + "\n"
}
