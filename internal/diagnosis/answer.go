package diagnosis

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/printable"
)

// Standing says how bad it is.
type Standing string

// What an Answer may come to.
const (
	// Fine: nothing is wrong.
	Fine Standing = "Fine"
	// Waiting: something has not happened yet, and is not overdue.
	Waiting Standing = "Waiting"
	// LeftAlone: somebody asked Farrier to do nothing.
	LeftAlone Standing = "LeftAlone"
	// Trouble: somebody has to do something, or something is overdue.
	Trouble Standing = "Trouble"
)

// Answer is why something is as it is.
type Answer struct {
	// Subject is what was asked about, such as "Server node-7".
	Subject  string   `json:"subject"`
	Standing Standing `json:"standing"`
	// Reason is the typed cause: the reason of a condition, or one of the steps of a boot.
	Reason string `json:"reason"`
	// Since is when that began; zero: nothing tells.
	Since time.Time `json:"since,omitzero"`
	// Cause and Next are a sentence each: why, and what to do.
	Cause string `json:"cause"`
	Next  string `json:"next"`
	// Missing is the first step that did not happen; nil where the cause is no missing step.
	Missing *Missing `json:"missing,omitempty"`
	// Usual are usual causes of the cause, the most frequent first.
	Usual []string `json:"usualCauses,omitempty"`
	// Evidence is what the cause was found by, and what else was seen.
	Evidence []string `json:"evidence,omitempty"`
	// NotRead says what could not be read, and why.
	NotRead []string `json:"notRead,omitempty"`
}

// Missing is a step that did not happen.
type Missing struct {
	Step string `json:"step"`
	// Since is when the step before it happened, and Usual how long this one takes.
	Since time.Time `json:"since"`
	Usual Duration  `json:"usual"`
	// Overdue is zero while the step may still come in its usual time.
	Overdue Duration `json:"overdue,omitempty"`
}

// Duration is spelled as people do.
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String has two units at most: 1h5m, 12m, 8s.
func (d Duration) String() string {
	const day = 24 * time.Hour
	switch t := time.Duration(d); {
	case t >= 2*day:
		return fmt.Sprintf("%d days", t/day)
	case t >= time.Hour:
		return whole(t.Truncate(time.Minute))
	case t >= time.Minute:
		return whole(t.Truncate(time.Second))
	default:
		return t.Truncate(time.Second).String()
	}
}

// whole leaves out the seconds of whole minutes.
func whole(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		return strings.TrimSuffix(text, "0s")
	}
	return text
}

// Print writes an answer for people: the cause, the next step, then the evidence. Whatever a machine or a registry has written does nothing to
// a terminal.
func (a *Answer) Print(out io.Writer, zone *time.Location) error {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n") }
	line("%s", a.Cause)
	line("Next: %s", a.Next)
	if m := a.Missing; m != nil {
		b.WriteByte('\n')
		since := fmt.Sprintf("waited for since %s, usually up to %s", m.Since.In(zone).Format(time.DateTime), m.Usual)
		if m.Overdue > 0 {
			since += fmt.Sprintf(", overdue for %s", m.Overdue)
		}
		line("Missing: %s (%s)", m.Step, since)
	}
	for _, list := range []struct {
		title string
		items []string
	}{{"Usual causes", a.Usual}, {"Evidence", a.Evidence}, {"Not read", a.NotRead}} {
		if len(list.items) == 0 {
			continue
		}
		line("")
		line("%s:", list.title)
		for _, item := range list.items {
			line("- %s", item)
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
