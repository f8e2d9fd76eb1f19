package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/cli/screen"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/printable"
)

const (
	// mostNames is how many names of a cause are shown.
	mostNames = 3
	// tall is the height from which on there is room for more causes.
	tall = 40
	// Unlimited is the width and the height of what is no terminal.
	Unlimited = 1 << 20
)

// Picture says how a Fleet is drawn.
type Picture struct {
	// Wide adds columns.
	Wide bool
	// Rows is how many servers are shown at most; 0: all.
	Rows  int
	Paint screen.Paint
	Now   time.Time
}

// Lines draws the fleet for a terminal of the given size, at most one line less than it is high.
func (p Picture) Lines(f *overview.Fleet, columns, height int) []string {
	lines := p.heading(f, columns, height)
	if len(f.Servers) == 0 || len(lines) > height-5 { // no place for titles, a server and how many more there are
		return lines[:min(len(lines), height-1)]
	}
	lines = append(lines, "")
	room := max(height-1-len(lines)-1, 1) // the titles take a line
	if p.Rows > 0 {
		room = min(room, p.Rows)
	}
	shown, hidden := f.Servers, []overview.Server(nil)
	if len(shown) > room {
		room = max(room-1, 1)
		shown, hidden = f.Servers[:room], f.Servers[room:]
	}
	lines = append(lines, screen.Table(shown, p.columns(), columns, p.Paint)...)
	if len(hidden) > 0 {
		lines = append(lines, p.Paint.In(screen.Faint, screen.Fit(fmt.Sprintf("… and %d more: %s", len(hidden), tally(hidden)), columns)))
	}
	return lines
}

// heading counts everything, and names what is wrong.
func (p Picture) heading(f *overview.Fleet, columns, height int) []string {
	paint := p.Paint
	text := fmt.Sprintf("%d servers", len(f.Servers))
	switch {
	case len(f.Servers) < f.Everyone:
		text = fmt.Sprintf("%d of %d servers", len(f.Servers), f.Everyone)
	case len(f.Servers) == 1:
		text = "1 server"
	}
	if counted := screen.Tally(f.States); counted != "" {
		text += ": " + counted
	}
	lines := []string{paint.In(screen.Bold, screen.Fit(text, columns))}
	section := func(title string, causes []overview.Cause) {
		lines = append(lines, screen.Fit(title, columns))
		lines = append(lines, reasons(causes, columns, height, paint)...)
	}
	if n := count(f.Trouble); n > 0 {
		section(fmt.Sprintf("%d in trouble:", n), f.Trouble)
	}
	answer := fmt.Sprintf("%d of %d BMCs answer", f.BMCs.Answer, f.BMCs.Total)
	if n := count(f.BMCs.Failing); n > 0 {
		section(fmt.Sprintf("%s; %d fail:", answer, n), f.BMCs.Failing)
	} else if waits := f.BMCs.Total - f.BMCs.Answer; waits > 0 {
		section(fmt.Sprintf("%s; %d not heard of yet", answer, waits), nil)
	}
	if n := count(f.Claims.Waiting); n > 0 {
		section(fmt.Sprintf("%d of %d claims wait for a server:", n, f.Claims.Total), f.Claims.Waiting)
	}
	if n := len(f.Unknown); n > 0 {
		section(fmt.Sprintf("%d unknown machines asked for a boot; farrier unknown lists them", n), nil)
	}
	for _, what := range f.Missing {
		lines = append(lines, paint.In(screen.Yellow, screen.Fit("not known: "+printable.Line(what), columns)))
	}
	return lines
}

func count(causes []overview.Cause) int {
	n := 0
	for _, c := range causes {
		n += len(c.Names)
	}
	return n
}

// reasons draws causes, one in a line.
func reasons(causes []overview.Cause, columns, height int, paint screen.Paint) []string {
	var lines []string
	most := 5
	if height < tall {
		most = 2
	}
	for i, c := range causes {
		if i == most && len(causes) > most+1 {
			lines = append(lines, screen.Fit(fmt.Sprintf("  … and %d for other reasons", count(causes[i:])), columns))
			break
		}
		names := strings.Join(c.Names[:min(len(c.Names), mostNames)], ", ")
		if n := len(c.Names) - mostNames; n > 0 {
			names += fmt.Sprintf(" and %d more", n)
		}
		text := fmt.Sprintf("  %d %s: %s", len(c.Names), c.Reason, names)
		if c.Message != "" {
			text += ": " + c.Message
		}
		lines = append(lines, paint.In(screen.Red, screen.Fit(printable.Line(text), columns)))
	}
	return lines
}

func tally(servers []overview.Server) string {
	states := map[string]int{}
	for _, s := range servers {
		states[s.State]++
	}
	return screen.Tally(states)
}

// columns are those of the table of servers.
func (p Picture) columns() []screen.Column[overview.Server] {
	table := []screen.Column[overview.Server]{
		{Title: "SERVER", Text: func(s overview.Server) string { return s.Name }},
		{Title: "STATE", Text: func(s overview.Server) string { return s.State }, Colour: func(s overview.Server) string { return screen.StateColour(s.State) }},
		{Title: "POWER", Need: 50, Text: func(s overview.Server) string { return s.Power }},
		{Title: "FOR", Need: 40, Right: true, Text: func(s overview.Server) string {
			if s.Since == nil {
				return ""
			}
			return lasting(p.Now.Sub(*s.Since))
		}},
		{Title: "CLAIM", Need: 70, Text: func(s overview.Server) string { return s.Claim }},
	}
	if p.Wide {
		table = append(table,
			screen.Column[overview.Server]{Title: "SITE", Text: func(s overview.Server) string { return s.Site }},
			screen.Column[overview.Server]{Title: "RACK", Text: func(s overview.Server) string { return s.Rack }},
			screen.Column[overview.Server]{Title: "BMC", Text: func(s overview.Server) string { return s.BMC }},
			screen.Column[overview.Server]{Title: "MODEL", Text: func(s overview.Server) string { return s.Model }},
			screen.Column[overview.Server]{Title: "UUID", Text: func(s overview.Server) string { return s.UUID }},
		)
	}
	return append(table, screen.Column[overview.Server]{Title: "DOING", Need: 60, Text: doing, Colour: func(s overview.Server) string {
		if s.Trouble {
			return screen.Red
		}
		return ""
	}})
}

// doing begins with what a narrow column has room for.
func doing(s overview.Server) string {
	if s.Reason != "" {
		return s.Reason + ": " + s.Doing
	}
	return s.Doing
}

// lasting is how long something has been going on. Objects know whole seconds.
func lasting(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	}
	return screen.Lasting(d)
}
