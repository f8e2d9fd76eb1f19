package timeline

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/printable"
)

// Printer writes entries for people, a line each, as they come.
type Printer struct {
	Out io.Writer
	// Zone is that of the times.
	Zone *time.Location

	header  string
	day     string
	attempt string
	begun   bool
	seen    map[Entry]bool
}

// Header says which server it is and how it is, once for as long as that is the same.
func (p *Printer) Header(t *Timeline) error {
	var b strings.Builder
	if t.Server != "" {
		fmt.Fprintf(&b, "Server %s, %s", t.Server, orNone(t.UUID))
	} else {
		fmt.Fprintf(&b, "Machine %s, for which there is no Server", t.UUID)
	}
	for _, part := range []struct{ text, value string }{{"state ", t.State}, {"power ", t.Power}, {"claim ", t.Claim}} {
		if part.value != "" {
			b.WriteString(", " + part.text + printable.Line(part.value))
		}
	}
	b.WriteByte('\n')
	before := p.header
	if p.header = b.String(); p.header == before {
		return nil
	}
	if before != "" {
		p.attempt = "" // so that what follows stands apart
		return p.write("\n" + p.header)
	}
	return p.write(p.header)
}

func orNone(uuid string) string {
	if uuid == "" {
		return "no UUID"
	}
	return uuid
}

// Print writes the entries that were not written before, and what could not be read.
func (p *Printer) Print(t *Timeline) error {
	var b strings.Builder
	if p.seen == nil {
		p.seen = map[Entry]bool{}
	}
	for _, e := range t.Entries {
		key := e.key()
		key.Time = e.Time.UTC()
		if !p.seen[key] {
			p.seen[key] = true
			p.line(&b, e)
		}
	}
	if len(t.Entries) == 0 && !p.begun {
		b.WriteString("\nFarrier knows nothing about it yet.\n")
	}
	p.begun = true
	return p.write(b.String())
}

// Missing says what could not be read.
func (p *Printer) Missing(t *Timeline) error {
	var b strings.Builder
	for i, m := range t.Missing {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("not shown: " + printable.Line(m) + "\n")
	}
	return p.write(b.String())
}

// Widths of columns. They do not depend on what else there is, so that lines can follow one by one.
const (
	widthTime = 12 // 15:04:05.000
	widthWhat = 22 // IgnitionDataDelivered
	widthSize = 9  // 1023.9 KiB
)

func (p *Printer) line(b *strings.Builder, e Entry) {
	at := e.Time.In(p.Zone)
	exact := e.Kind == KindRequest || e.Kind == KindReport || e.Kind == KindBoot || e.Kind == KindCommand || e.Kind == KindState || e.Kind == KindConsole
	if day := at.Format("Monday, 2 January 2006 (MST)"); day != p.day {
		p.day = day
		b.WriteString("\n" + day + "\n")
		p.attempt = e.Attempt
	} else if exact && e.Attempt != "" && e.Attempt != p.attempt {
		p.attempt = e.Attempt
		b.WriteByte('\n')
	}
	clock := at.Format("15:04:05")
	if exact {
		clock = at.Format("15:04:05.000")
	}
	mark := "  "
	if e.Bad {
		mark = "! "
	}
	what := printable.Line(e.What)
	var text string
	switch e.Kind {
	case KindRequest, KindReport:
		text = fmt.Sprintf("%3d %*s  %s", e.Status, widthSize, size(e.Bytes), printable.Line(e.Address))
		if e.Count > 1 && e.Last != nil {
			text += fmt.Sprintf("  %d times until %s", e.Count, e.Last.In(p.Zone).Format("15:04:05"))
		} else if e.Count > 1 {
			text += fmt.Sprintf("  %d times", e.Count)
		}
		if e.Detail != "" {
			text += "  " + printable.Line(e.Detail)
		}
	default:
		text = printable.Line(e.Object)
		if e.Detail != "" {
			if text != "" {
				text += ": "
			}
			text += printable.Line(digests.ReplaceAllString(e.Detail, "$1…"))
		}
	}
	line := fmt.Sprintf("%-*s %s%-*s  %s", widthTime, clock, mark, widthWhat, what, text)
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// digests are longer than anybody reads.
var digests = regexp.MustCompile(`(sha256:[0-9a-f]{12})[0-9a-f]{52}`)

// size is a number of bytes as people read it.
func size(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/(unit*unit))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(unit*unit*unit))
}

func (p *Printer) write(text string) error {
	if text == "" {
		return nil
	}
	if _, err := io.WriteString(p.Out, text); err != nil {
		return fmt.Errorf("write the timeline: %w", err)
	}
	return nil
}
