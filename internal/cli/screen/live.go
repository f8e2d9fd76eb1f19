package screen

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// Source is what a Live shows.
type Source interface {
	// Changed is closed at the next change.
	Changed() <-chan struct{}
	// News are lines that tell what has happened, without the first n things, and how many things have happened so far.
	News(n int) (lines []string, all int)
	// Draw is the picture of this moment for a terminal of the given size. It is at most one line less than that is high, so that
	// the cursor has a place below.
	Draw(columns, height int, paint Paint) []string
}

// refresh is how often durations on a terminal move; redraw bounds how often anything does.
const (
	refresh = 200 * time.Millisecond
	redraw  = 50 * time.Millisecond
)

// Live shows a source while it changes.
type Live struct {
	Out    io.Writer
	Source Source
	Clock  clock.Clock
	// Size tells the size of the terminal that Out is; nil means that it is none, and gets lines.
	Size  func() (columns, height int)
	Paint Paint

	printed int // things that have happened
	drawn   int // lines of the last picture
}

// Run shows until the context ends, and then once more, so that the last word is seen.
func (l *Live) Run(ctx context.Context) {
	for {
		changed := l.Source.Changed()
		l.show()
		if !l.wait(ctx, changed) {
			l.show()
			return
		}
	}
}

// wait returns when there is something new to show; false: when the context has ended.
func (l *Live) wait(ctx context.Context, changed <-chan struct{}) bool {
	if l.Size == nil {
		select {
		case <-changed:
			return true
		case <-ctx.Done():
			return false
		}
	}
	soonest := l.Clock.NewTimer(redraw)
	defer soonest.Stop()
	select {
	case <-soonest.C():
	case <-ctx.Done():
		return false
	}
	latest := l.Clock.NewTimer(refresh - redraw)
	defer latest.Stop()
	select {
	case <-changed:
	case <-latest.C():
	case <-ctx.Done():
		return false
	}
	return true
}

// show draws or prints. What cannot be written is not worth ending for what is shown.
func (l *Live) show() {
	if l.Size == nil {
		lines, all := l.Source.News(l.printed)
		l.printed = all
		for _, line := range lines {
			_, _ = io.WriteString(l.Out, line+"\n")
		}
		return
	}
	columns, height := l.Size()
	lines := l.Source.Draw(columns, height, l.Paint)
	_, _ = io.WriteString(l.Out, over(l.drawn, lines))
	l.drawn = len(lines)
}

// over draws lines in place of the last n above the cursor: cursor to the preceding line (CPL), erase in line (EL) after each, erase
// in page (ED) after all; ECMA-48 §8.3.13, §8.3.41, §8.3.39.
func over(n int, lines []string) string {
	var b strings.Builder
	if n > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(n) + "F")
	}
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}
