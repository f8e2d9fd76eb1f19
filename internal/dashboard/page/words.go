package page

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"

	"github.com/farrier-dev/farrier/internal/diagnosis"
)

// words are the functions of templates.
var words = template.FuncMap{
	"text":  harmless,
	"ago":   ago,
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"size":  size,
}

// harmless keeps what machines and other programs have written from doing anything to whoever reads it: what cannot be printed, and what turns
// the direction of the text, becomes a replacement character.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// ago is how long before now something was. Clocks differ: what is ahead of ours is now.
func ago(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return diagnosis.Duration(max(now.Sub(at), 0)).String()
}

// size is a number of bytes as people read it.
func size(n int64) string {
	const step = 1024
	value, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	at := 0
	for value >= step && at < len(units)-1 {
		value, at = value/step, at+1
	}
	if at == 0 || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, units[at])
	}
	return fmt.Sprintf("%.1f %s", value, units[at])
}
