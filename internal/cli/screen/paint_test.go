package screen

import (
	"strings"
	"testing"
	"time"
)

func TestLasting(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0s", 9999 * time.Millisecond: "9.9s", 10 * time.Second: "10s", 59*time.Minute + time.Second: "59m01s",
		time.Hour + 5*time.Minute + 59*time.Second: "1h05m", 47*time.Hour + 59*time.Minute: "47h59m", 50 * time.Hour: "2d02h",
	} {
		if got := Lasting(d); got != want {
			t.Errorf("Lasting(%s) = %q, want %q", d, got, want)
		}
	}
}

// TestTextFits: whatever characters there are, a text that was cut takes no more columns than it may.
func TestTextFits(t *testing.T) {
	for text, columns := range map[string]int{"plain": 5, "架子一": 6, "e\u0301": 1, "": 0} {
		if got := Width(text); got != columns {
			t.Errorf("Width(%q) = %d, want %d", text, got, columns)
		}
		for n := range 8 {
			if got := Fit(text, n); Width(got) > n {
				t.Errorf("Fit(%q, %d) = %q, which takes %d", text, n, got, Width(got))
			}
			if got := Pad(Fit(text, n), n); Width(got) != n {
				t.Errorf("Pad(%q, %d) takes %d", got, n, Width(got))
			}
		}
	}
}

// TestTableFits: no line is wider than the terminal, whichever it is.
func TestTableFits(t *testing.T) {
	table := []Column[string]{
		{Title: "NAME", Text: strings.ToLower}, {Title: "EMPTY", Text: func(string) string { return "" }}, {Title: "WIDE", Need: 30, Right: true, Text: func(s string) string { return s + s }},
	}
	for columns := 1; columns < 60; columns++ {
		lines := Table([]string{"A", "LONGER\x1b[2J架"}, table, columns, false)
		for _, line := range lines {
			if Width(line) > columns || strings.Contains(line, "EMPTY") || strings.Contains(line, "\x1b") {
				t.Errorf("at %d columns: %q", columns, line)
			}
		}
		if wide := strings.Contains(lines[0], "WIDE"); wide != (columns >= 30) {
			t.Errorf("at %d columns WIDE is there: %v", columns, wide)
		}
	}
}
