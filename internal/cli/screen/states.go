package screen

import (
	"fmt"
	"strings"
)

// states is the order in which servers are counted. The empty state is that of a machine for which there is no Server yet.
var states = []string{"", "Initial", "Discovery", "Available", "Reserved", "Cleanup", "Released", "Maintenance", "Parked", "Error"}

// Tally says how many servers are in each state.
func Tally(count map[string]int) string {
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

// StateColour is quiet for a state of a server that rests, and brighter for one that moves.
func StateColour(state string) string {
	switch state {
	case "Available":
		return Green
	case "Reserved":
		return Cyan
	case "Initial", "Discovery":
		return Yellow
	case "Cleanup":
		return Magenta
	case "Error":
		return Red
	}
	return ""
}
