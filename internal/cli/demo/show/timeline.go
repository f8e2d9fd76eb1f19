package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/cli/screen"
	"github.com/farrier-dev/farrier/internal/printable"
)

// maxTimelines is how many machines are told of one by one.
const maxTimelines = 3

// WriteTimelines writes what happened to the claimed machines, step by step.
func (r *Result) WriteTimelines(w io.Writer, paint screen.Paint) error {
	told := r.Claims
	if len(told) > maxTimelines {
		told = told[:1]
	}
	var lines []string
	for i := range told {
		if len(told[i].Events) > 0 {
			lines = append(append(lines, ""), told[i].timeline(paint)...)
		}
	}
	if len(r.Claims) > len(told) {
		lines = append(append(lines, ""), phases(r.Claims, paint)...)
	}
	if len(lines) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("write the timeline: %w", err)
	}
	return nil
}

// timeline tells what happened to one machine, when, and how long it took.
func (c *ClaimHistory) timeline(paint screen.Paint) []string {
	title := "claim " + c.Name
	if c.Server != "" {
		title = c.Server + ", " + title
	}
	lines := []string{paint.In(screen.Bold, title), "", paint.In(screen.Faint, "       at     took")}
	widest := 0
	for _, e := range c.Events {
		widest = max(widest, screen.Width(printable.Line(e.What)))
	}
	part := ""
	for _, e := range c.Events {
		if e.Part != part {
			part = e.Part
			lines = append(lines, "  "+paint.In(screen.Bold, part))
		}
		lasted := ""
		if time.Duration(e.Took) >= 50*time.Microsecond { // else it would read 0.0ms
			lasted = took(time.Duration(e.Took))
		}
		line := paint.In(screen.Faint, fmt.Sprintf("%8.2fs%9s", seconds(e.Seconds), lasted)) + "  "
		if e.Detail == "" {
			line += printable.Line(e.What)
		} else {
			line += screen.Pad(printable.Line(e.What), widest) + "  " + paint.In(screen.Faint, printable.Line(e.Detail))
		}
		lines = append(lines, line)
	}
	return append(append(lines, c.verdict(paint)...), c.Cleanup.lines(paint)...)
}

// verdict says what the machine fetched beside what it should have.
func (c *ClaimHistory) verdict(paint screen.Paint) []string {
	if len(c.Files) == 0 {
		return nil
	}
	lines := []string{"  " + paint.In(screen.Bold, "fetched")}
	for _, f := range c.Files {
		mark, colour, text := "ok", screen.Green, f.Expected
		if !f.OK {
			mark, colour, text = "no", screen.Red, f.Why
		}
		lines = append(lines, fmt.Sprintf("  %s  %-9s  %10s  %s", paint.In(colour, mark), f.What, Size(f.Bytes), paint.In(screen.Faint, printable.Line(text))))
	}
	return lines
}

// lines tell what the record of the cleanup says of each disk, and what was and is on it.
func (c *Cleanup) lines(paint screen.Paint) []string {
	if c == nil {
		return nil
	}
	title := "(" + printable.Line(c.Mode) + ")"
	if c.OK { // what went wrong is said disk by disk
		title += ": " + printable.Line(c.Summary)
	}
	lines := []string{"  " + paint.In(screen.Bold, "wiped") + " " + paint.In(screen.Faint, title)}
	path, serial, method := 0, 0, 0
	for _, d := range c.Disks {
		path, serial, method = max(path, screen.Width(printable.Line(d.Path))), max(serial, screen.Width(printable.Line(d.Serial))), max(method, screen.Width(printable.Line(d.Method)))
	}
	for _, d := range c.Disks {
		mark, colour := "ok", screen.Green
		if d.Why != "" || len(d.After) > 0 {
			mark, colour = "no", screen.Red
		}
		lines = append(lines, fmt.Sprintf("  %s  %s  %s  %s  %8s  %s", paint.In(colour, mark), screen.Pad(printable.Line(d.Path), path),
			screen.Pad(printable.Line(d.Serial), serial), screen.Pad(printable.Line(d.Method), method), took(time.Duration(d.Took)), printable.Line(d.Result)))
		if d.Why != "" {
			lines = append(lines, "      "+paint.In(screen.Red, printable.Line(d.Why)))
		}
		lines = append(lines, "      "+paint.In(screen.Faint, "before: "+found(d.Before)), "      "+paint.In(screen.Faint, "after:  "+found(d.After)))
	}
	return lines
}

func found(traces []string) string {
	if len(traces) == 0 {
		return "nothing"
	}
	return printable.Line(strings.Join(traces, ", "))
}

// phases tells of many claims how long the parts of their lives took.
func phases(claims []ClaimHistory, paint screen.Paint) []string {
	var names []string
	times := map[string][]time.Duration{}
	for _, c := range claims {
		for _, p := range c.Phases {
			if times[p.Name] == nil {
				names = append(names, p.Name)
			}
			times[p.Name] = append(times[p.Name], time.Duration(p.Took))
		}
	}
	lines := []string{
		paint.In(screen.Bold, fmt.Sprintf("all %d claims", len(claims))), "",
		paint.In(screen.Faint, fmt.Sprintf("  %-26s %9s %9s %9s", "", "fastest", "median", "slowest")),
	}
	for _, name := range names {
		t := times[name]
		slices.Sort(t)
		lines = append(lines, fmt.Sprintf("  %-26s %9s %9s %9s", name, took(t[0]), took(t[len(t)/2]), took(t[len(t)-1])))
	}
	return lines
}

func seconds(s Seconds) float64 { return time.Duration(s).Seconds() }
