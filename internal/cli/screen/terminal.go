package screen

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Terminal returns how to find the size of the terminal that w is; nil: it is none, or one that cannot move its cursor.
func Terminal(w io.Writer) func() (columns, height int) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() (int, int) {
		columns, height, err := term.GetSize(int(file.Fd()))
		if err != nil || columns == 0 || height == 0 {
			return 80, 24
		}
		return columns, height
	}
}

// PaintFor colours what a person reads on a terminal, unless they asked not to (no-color.org).
func PaintFor(w io.Writer) Paint {
	return Paint(Terminal(w) != nil && os.Getenv("NO_COLOR") == "")
}
