package screen

import (
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/printable"
)

// Column is one column of a table of Ts.
type Column[T any] struct {
	Title string
	// Need is how wide a terminal must be for the column to be there.
	Need int
	Text func(T) string
	// Right puts the text to the right.
	Right bool
	// Colour of a cell; nil: none.
	Colour func(T) string
}

// Table draws rows below a line of titles, with the columns for which there is room and which are not empty.
func Table[T any](rows []T, table []Column[T], columns int, paint Paint) []string {
	const gap = 2
	lines := make([]string, len(rows)+1)
	used := 0
	for _, c := range table {
		if c.Need > columns || !slices.ContainsFunc(rows, func(row T) bool { return c.Text(row) != "" }) {
			continue
		}
		w := Width(c.Title)
		for _, row := range rows {
			w = max(w, Width(printable.Line(c.Text(row))))
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
			text, colour := c.Title, Faint
			if i > 0 {
				text, colour = c.cell(rows[i-1])
			}
			text = Fit(text, w)
			filling := strings.Repeat(" ", max(w-Width(text), 0))
			if c.Right {
				lines[i] += filling + paint.In(colour, text)
			} else {
				lines[i] += paint.In(colour, text) + filling
			}
		}
		used += w
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func (c Column[T]) cell(row T) (text, colour string) {
	if c.Colour != nil {
		colour = c.Colour(row)
	}
	return printable.Line(c.Text(row)), colour
}
