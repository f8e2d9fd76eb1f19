package show

import (
	"fmt"
	"time"

	"github.com/farrier-dev/farrier/internal/cli/screen"
	"github.com/farrier-dev/farrier/internal/printable"
)

// Frame is the demo at one moment.
type Frame struct {
	Elapsed time.Duration
	// Step is what is awaited, the Number-th of Steps; Have of Want things have done it.
	Step          string
	Number, Steps int
	Have, Want    int
	// Means tells what happens in the step.
	Means string
	// Failed is how the demo ended without success, and why.
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

// The smallest terminal that a frame is drawn for. One that is smaller still shows a part of it.
const (
	minWidth  = 20
	minHeight = 8
	// roomy is the height from which on there is room for more than servers.
	roomy = 14
)

// Lines draws the frame for a terminal of the given size: at most one line less than it is high, so
// that the cursor has a place below.
func (f Frame) Lines(columns, height int, paint screen.Paint) []string {
	columns, height = max(columns, minWidth), max(height, minHeight)
	lines := f.heading(columns, height, paint)
	shown, hidden := choose(f.Servers, height-1-len(lines)-1)
	lines = append(lines, screen.Table(shown, columnsOfTable, columns, paint)...)
	if len(hidden) > 0 {
		lines = append(lines, paint.In(screen.Faint, screen.Fit(fmt.Sprintf("… and %d more: %s", len(hidden), tally(hidden)), columns)))
	}
	return lines
}

func (f Frame) heading(columns, height int, paint screen.Paint) []string {
	title := fmt.Sprintf("farrier demo  %s", offset(f.Elapsed))
	step := ""
	switch {
	case f.Failed != "":
		step = printable.Line(f.Failed)
	case f.Number > f.Steps:
		step = "done"
	case f.Number > 0:
		step = fmt.Sprintf("step %d of %d: %s", f.Number, f.Steps, f.Step)
		if f.Want > 0 {
			step += fmt.Sprintf(" %d/%d", f.Have, f.Want)
		}
	}
	lines := []string{paint.In(screen.Bold, title)}
	if room := columns - screen.Width(title) - 3; step != "" && room > 0 {
		colour := ""
		if f.Failed != "" {
			colour = screen.Red
		}
		lines[0] += "   " + paint.In(colour, screen.Fit(step, room))
	}
	over := f.Failed != "" || f.Number > f.Steps
	if f.Means != "" && height >= roomy && !over {
		lines = append(lines, screen.Fit(f.Means, columns))
	}
	if f.Hint != "" && !over && screen.Width(f.Hint) <= columns && height >= roomy { // half a command is of no use
		lines = append(lines, paint.In(screen.Faint, f.Hint))
	}
	return append(lines, "", screen.Fit(tally(f.Servers), columns), "")
}

// tally counts servers by state.
func tally(servers []Server) string {
	count := map[string]int{}
	for _, s := range servers {
		count[s.State]++
	}
	return screen.Tally(count)
}

var columnsOfTable = []screen.Column[Server]{
	{Title: "SERVER", Text: func(s Server) string { return s.Name }},
	{Title: "MODEL", Need: 110, Text: func(s Server) string { return s.Model }},
	{Title: "POWER", Need: 50, Text: func(s Server) string { return s.Power }, Colour: func(s Server) string {
		if s.Power == "Off" {
			return screen.Faint
		}
		return ""
	}},
	{Title: "STATE", Text: func(s Server) string { return s.State }, Colour: func(s Server) string { return screen.StateColour(s.State) }},
	{Title: "FOR", Need: 40, Right: true, Text: func(s Server) string {
		if s.State == "" {
			return ""
		}
		return screen.Lasting(s.For)
	}, Colour: func(Server) string { return screen.Faint }},
	{Title: "CLAIM", Need: 70, Text: func(s Server) string { return s.Claim }},
	{Title: "DOING", Need: 60, Text: func(s Server) string { return s.Doing }, Colour: func(s Server) string {
		if s.Trouble {
			return screen.Red
		}
		return ""
	}},
}
