package show

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Frame is the demo at one moment.
type Frame struct {
	Elapsed time.Duration
	// Step is what is awaited, the Number-th of Steps; Have of Want things have done it.
	Step          string
	Number, Steps int
	Have, Want    int
	// Failed is why the demo ends without success.
	Failed string
	// Hint is a command that can be typed elsewhere meanwhile.
	Hint    string
	Servers []Server
}

// Server is one server in a Frame.
type Server struct {
	// Name is the server's, or that of its BMC while no server is known.
	Name  string
	Model string
	Power string
	// State is empty while no server is known.
	State string
	// For is how long it has been in State.
	For time.Duration
	// Claim is the name of the claim that has it.
	Claim string
	// Doing is what it does now, in a few words; Trouble says that it should not.
	Doing   string
	Trouble bool
}

// states is the order in which servers are counted.
var states = []string{"", "Initial", "Discovery", "Available", "Reserved", "Cleanup", "Released", "Maintenance", "Parked", "Error"}

// The smallest terminal that a frame is drawn for. One that is smaller still shows a part of it.
const (
	minWidth  = 20
	minHeight = 8
	// roomy is the height from which on there is room for more than servers.
	roomy = 14
)

// Lines draws the frame for a terminal of the given size: at most one line less than it is high, so
// that the cursor has a place below.
func (f Frame) Lines(columns, height int, paint Paint) []string {
	columns, height = max(columns, minWidth), max(height, minHeight)
	lines := f.heading(columns, height, paint)
	shown, hidden := choose(f.Servers, height-1-len(lines)-1)
	lines = append(lines, table(shown, columns, paint)...)
	if len(hidden) > 0 {
		lines = append(lines, paint.in(faint, fit(fmt.Sprintf("… and %d more: %s", len(hidden), tally(hidden)), columns)))
	}
	return lines
}

func (f Frame) heading(columns, height int, paint Paint) []string {
	title := fmt.Sprintf("farrier demo  %s", offset(f.Elapsed))
	step := ""
	switch {
	case f.Failed != "":
		step = "failed: " + clean(f.Failed)
	case f.Number > f.Steps:
		step = "done"
	case f.Number > 0:
		step = fmt.Sprintf("step %d of %d: %s", f.Number, f.Steps, f.Step)
		if f.Want > 0 {
			step += fmt.Sprintf(" %d/%d", f.Have, f.Want)
		}
	}
	lines := []string{paint.in(bold, title)}
	if room := columns - width(title) - 3; step != "" && room > 0 {
		colour := ""
		if f.Failed != "" {
			colour = red
		}
		lines[0] += "   " + paint.in(colour, fit(step, room))
	}
	if f.Hint != "" && width(f.Hint) <= columns && height >= roomy { // half a command is of no use
		lines = append(lines, paint.in(faint, f.Hint))
	}
	return append(lines, "", fit(tally(f.Servers), columns), "")
}

// tally counts servers by state.
func tally(servers []Server) string {
	count := map[string]int{}
	for _, s := range servers {
		count[s.State]++
	}
	var parts []string
	for _, state := range states {
		name := state
		if name == "" {
			name = "not found yet"
		}
		if n := count[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	return strings.Join(parts, ", ")
}

// column is one column of the table.
type column struct {
	title string
	// need is how wide a terminal must be for the column to be there.
	need int
	text func(Server) string
	// right puts the text to the right.
	right  bool
	colour func(Server) string
}

var columnsOfTable = []column{
	{title: "SERVER", text: func(s Server) string { return s.Name }},
	{title: "MODEL", need: 110, text: func(s Server) string { return s.Model }},
	{title: "POWER", need: 50, text: func(s Server) string { return s.Power }, colour: func(s Server) string {
		if s.Power == "Off" {
			return faint
		}
		return ""
	}},
	{title: "STATE", text: func(s Server) string { return s.State }, colour: func(s Server) string { return stateColour(s.State) }},
	{title: "FOR", need: 40, right: true, text: func(s Server) string {
		if s.State == "" {
			return ""
		}
		return lasting(s.For)
	}, colour: func(Server) string { return faint }},
	{title: "CLAIM", need: 70, text: func(s Server) string { return s.Claim }},
	{title: "DOING", need: 60, text: func(s Server) string { return s.Doing }, colour: func(s Server) string {
		if s.Trouble {
			return red
		}
		return ""
	}},
}

// table draws servers, with the columns for which there is room and which are not empty.
func table(servers []Server, columns int, paint Paint) []string {
	const gap = 2
	lines := make([]string, len(servers)+1)
	used := 0
	for _, c := range columnsOfTable {
		if c.need > columns || !slices.ContainsFunc(servers, func(s Server) bool { return c.text(s) != "" }) {
			continue
		}
		w := width(c.title)
		for _, s := range servers {
			w = max(w, width(clean(c.text(s))))
		}
		if used > 0 {
			used += gap
		}
		if w = min(w, columns-used); w < 1 {
			break
		}
		for i := range lines {
			if used > 0 {
				lines[i] += strings.Repeat(" ", gap)
			}
			text, colour := c.title, faint
			if i > 0 {
				text, colour = clean(c.text(servers[i-1])), ""
				if c.colour != nil {
					colour = c.colour(servers[i-1])
				}
			}
			text = fit(text, w)
			if c.right {
				lines[i] += padLeft("", w-width(text)) + paint.in(colour, text)
			} else {
				lines[i] += paint.in(colour, text) + pad("", w-width(text))
			}
		}
		used += w
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
