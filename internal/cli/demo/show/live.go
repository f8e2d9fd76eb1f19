package show

import (
	"time"

	"github.com/farrier-dev/farrier/internal/cli/screen"
)

// Story is what happens in a demo while it runs.
type Story interface {
	// Changed is closed at the next change.
	Changed() <-chan struct{}
	// Transitions are all that happened so far but for the first n.
	Transitions(n int) []Transition
	Frame() Frame
}

// Moving is a story for a screen: frames on a terminal, transitions as lines elsewhere.
type Moving struct {
	Story
	Start time.Time
}

// News implements screen.Source.
func (m Moving) News(n int) (lines []string, all int) {
	news := m.Transitions(n)
	for _, t := range news {
		if !t.Quiet {
			lines = append(lines, t.Line(m.Start))
		}
	}
	return lines, n + len(news)
}

// Draw implements screen.Source.
func (m Moving) Draw(columns, height int, paint screen.Paint) []string {
	return m.Frame().Lines(columns, height, paint)
}
