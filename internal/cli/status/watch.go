package status

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/cli/screen"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/printable"
)

// Watch is a Fleet that is looked at again and again: a picture on a terminal, and what has changed as lines elsewhere.
type Watch struct {
	Clock   clock.PassiveClock
	Picture Picture

	mu      sync.Mutex
	fleet   *overview.Fleet
	failed  error
	changed chan struct{}
	// lines tell what has changed since they were printed; printed is how many were.
	lines   []string
	printed int
	last    map[string]overview.Server
}

// NewWatch watches from a first look on.
func NewWatch(now clock.PassiveClock, picture Picture, first *overview.Fleet) *Watch {
	w := &Watch{Clock: now, Picture: picture, changed: make(chan struct{}), last: map[string]overview.Server{}}
	w.Look(first, nil)
	return w
}

// Look takes what was found at another look, or why nothing was: then what was found before stands.
func (w *Watch) Look(fleet *overview.Fleet, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
	if err == nil {
		w.tell(fleet)
		w.fleet = fleet
	} else {
		w.say("not known: " + err.Error())
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// tell says what has changed. w.mu is held.
func (w *Watch) tell(fleet *overview.Fleet) {
	now := make(map[string]overview.Server, len(fleet.Servers))
	for _, s := range fleet.Servers {
		now[s.Name] = s
		before, known := w.last[s.Name]
		if w.fleet == nil || known && before.State == s.State && before.Power == s.Power && before.Claim == s.Claim && before.Doing == s.Doing {
			continue
		}
		text := s.Name + "  " + s.State
		if known && before.State != s.State {
			text = s.Name + "  " + before.State + " → " + s.State
		}
		for _, part := range []string{s.Power, s.Claim, s.Doing} {
			if part != "" {
				text += "  " + part
			}
		}
		w.say(text)
	}
	for name := range w.last {
		if _, still := now[name]; !still {
			w.say(name + "  no longer there")
		}
	}
	if w.fleet == nil {
		w.say(fmt.Sprintf("%d servers: %s", len(fleet.Servers), screen.Tally(fleet.States)))
	}
	w.last = now
}

func (w *Watch) say(text string) {
	w.lines = append(w.lines, w.Clock.Now().Format(time.TimeOnly)+"  "+printable.Line(text))
}

// Changed implements screen.Source.
func (w *Watch) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// News implements screen.Source. Lines that were printed are forgotten.
func (w *Watch) News(n int) (lines []string, all int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines = w.lines[max(n-w.printed, 0):]
	w.printed += len(w.lines)
	w.lines = nil
	return lines, w.printed
}

// Draw implements screen.Source.
func (w *Watch) Draw(columns, height int, paint screen.Paint) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines, w.printed = nil, w.printed+len(w.lines) // nobody reads them beside a picture
	picture := w.Picture
	picture.Now, picture.Paint = w.Clock.Now(), paint
	if w.failed == nil {
		return picture.Lines(w.fleet, columns, height)
	}
	why := screen.Fit("as of "+w.fleet.Time.Local().Format(time.TimeOnly)+": "+printable.Line(w.failed.Error()), columns)
	return append([]string{paint.In(screen.Red, why)}, picture.Lines(w.fleet, columns, height-1)...)
}
