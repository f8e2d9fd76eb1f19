package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/printable"
)

// Transition is one change of one thing.
type Transition struct {
	At time.Time
	// Subject is what changed, in the words of a person: "sim-0001-system-0",
	// "claim default/demo-1", "step".
	Subject string
	// Aspect is which side of the subject, where it has several: "power".
	Aspect   string
	From, To string
	// Quiet transitions are remembered and not printed as lines.
	Quiet bool
}

// Line is the transition for somebody who reads a log.
func (t Transition) Line(start time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s  %s  ", offset(t.At.Sub(start)), printable.Line(t.Subject))
	if t.Aspect != "" {
		b.WriteString(t.Aspect + " ")
	}
	if t.From != "" {
		b.WriteString(printable.Line(t.From) + " → ")
	}
	b.WriteString(printable.Line(t.To))
	return b.String()
}
