package screen

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// Paint colours text where a person reads; false leaves it plain.
type Paint bool

// The few SGR parameters that are used (ECMA-48 §8.3.117).
const (
	Bold    = "1"
	Faint   = "2"
	Red     = "31"
	Green   = "32"
	Yellow  = "33"
	Magenta = "35"
	Cyan    = "36"
)

// In returns the text in a colour.
func (p Paint) In(colour, text string) string {
	if !p || colour == "" || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// columnsOf counts the columns that a character takes (UAX #11; combining marks take none).
func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Width counts the columns that a text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

// Fit cuts a text off at n columns, and marks the cut.
func Fit(text string, n int) string {
	if Width(text) <= n {
		return text
	}
	if n < 1 {
		return ""
	}
	used := 0
	for i, r := range text {
		if used += columnsOf(r); used > n-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// Pad fills a text with spaces up to n columns.
func Pad(text string, n int) string { return text + strings.Repeat(" ", max(n-Width(text), 0)) }

// PadLeft puts spaces before a text up to n columns.
func PadLeft(text string, n int) string { return strings.Repeat(" ", max(n-Width(text), 0)) + text }

// Lasting says how long something has been going on, with as many digits as a person cares for.
func Lasting(d time.Duration) string {
	d = max(d, 0)
	hours := int(d.Hours())
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case hours < 48:
		return fmt.Sprintf("%dh%02dm", hours, int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", hours/24, hours%24)
}
