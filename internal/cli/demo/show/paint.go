package show

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Paint colours text where a person reads; false leaves it plain.
type Paint bool

// The few SGR parameters that are used (ECMA-48 §8.3.117).
const (
	bold    = "1"
	faint   = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

func (p Paint) in(colour, text string) string {
	if !p || colour == "" || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// stateColour is quiet for what rests and brighter for what moves.
func stateColour(state string) string {
	switch state {
	case "Available":
		return green
	case "Reserved":
		return cyan
	case "Initial", "Discovery":
		return yellow
	case "Cleanup":
		return magenta
	case "Error":
		return red
	}
	return ""
}

// clean makes one line of printable text of what may come from outside.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// width counts columns; every character that is shown here takes one.
func width(text string) int { return utf8.RuneCountInString(text) }

// fit cuts text off at n columns, and says so.
func fit(text string, n int) string {
	if width(text) <= n {
		return text
	}
	if n < 1 {
		return ""
	}
	return string([]rune(text)[:n-1]) + "…"
}

func pad(text string, n int) string { return text + strings.Repeat(" ", max(n-width(text), 0)) }

func padLeft(text string, n int) string { return strings.Repeat(" ", max(n-width(text), 0)) + text }
