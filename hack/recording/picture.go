package main

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hinshun/vt10x"
)

// Pixels of a character and around the terminal.
const (
	cellWidth, cellHeight = 8.4, 18
	margin                = 16
	// rest is how long the last frame stays before it begins again.
	rest = 8 * time.Second
	// bold is the mode of bold text, as the terminal counts it.
	bold = 1 << 2
)

// colours of text, dark enough and light enough on the background: WCAG AA.
var colours = map[vt10x.Color]string{
	vt10x.Red: "#ff7b72", vt10x.Green: "#56d364", vt10x.Yellow: "#e3b341", vt10x.Magenta: "#d2a8ff", vt10x.Cyan: "#76e3ea", vt10x.DarkGrey: "#9198a1",
	vt10x.LightRed: "#ff7b72", vt10x.LightGreen: "#56d364", vt10x.LightYellow: "#e3b341", vt10x.LightMagenta: "#d2a8ff", vt10x.LightCyan: "#76e3ea",
}

// row draws a line of the terminal. It is empty for an empty one.
func row(columns int, cell func(x int) vt10x.Glyph) string {
	var b strings.Builder
	for x := 0; x < columns; {
		first := cell(x)
		begin, text := x, ""
		for ; x < columns; x++ {
			g := cell(x)
			if g.FG != first.FG || g.Mode != first.Mode {
				break
			}
			if g.Char == 0 {
				g.Char = ' '
			}
			text += string(g.Char)
		}
		if strings.TrimSpace(text) != "" {
			b.WriteString(span(begin, strings.TrimRight(text, " "), first))
		}
	}
	return b.String()
}

// span draws text from a column on, as wide as its characters are in a terminal, whatever the font.
func span(column int, text string, like vt10x.Glyph) string {
	style := ""
	if colour, ok := colours[like.FG]; ok {
		style = fmt.Sprintf(` fill="%s"`, colour)
	}
	if like.Mode&bold != 0 {
		style += ` font-weight="bold"`
	}
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(text)) // into memory
	return fmt.Sprintf(`<tspan x="%.1f" textLength="%.1f"%s>%s</tspan>`, float64(column)*cellWidth, float64(utf8.RuneCountInString(text))*cellWidth, style, escaped.String())
}

// picture draws frames side by side and moves them past a window, one at a time. Who wants no motion sees the last one.
func picture(title string, columns int, frames []frame) []byte {
	height := 0
	for _, f := range frames {
		height = max(height, len(f.rows))
	}
	width, tall := float64(columns)*cellWidth, float64(height)*cellHeight
	length := frames[len(frames)-1].at + rest
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">`+"\n",
		width+2*margin, tall+2*margin)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n@keyframes film {\n", title)
	for i, f := range frames {
		at := f.at
		if i == 0 {
			at = 0
		}
		fmt.Fprintf(&b, "%.2f%% { transform: translateX(%.0fpx) }\n", 100*at.Seconds()/length.Seconds(), -float64(i)*width)
	}
	last := -float64(len(frames)-1) * width
	fmt.Fprintf(&b, "100%% { transform: translateX(%.0fpx) }\n}\n.film { animation: film %.1fs step-end infinite }\n", last, length.Seconds())
	fmt.Fprintf(&b, "@media (prefers-reduced-motion: reduce) { .film { animation: none; transform: translateX(%.0fpx) } }\ntext { white-space: pre; fill: #e6edf3 }\n</style>\n", last)
	rows, defs := map[string]int{}, ""
	for _, f := range frames {
		for _, r := range f.rows {
			if _, known := rows[r]; !known && r != "" {
				rows[r] = len(rows)
				defs += fmt.Sprintf("<text id=\"r%d\">%s</text>\n", rows[r], r)
			}
		}
	}
	fmt.Fprintf(&b, "<defs>\n%s</defs>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#0d1117\"/>\n", defs)
	fmt.Fprintf(&b, `<svg x="%d" y="%d" width="%.0f" height="%.0f" overflow="hidden"><g class="film">`+"\n", margin, margin, width, tall)
	for i, f := range frames {
		for y, r := range f.rows {
			if r != "" {
				fmt.Fprintf(&b, `<use href="#r%d" x="%.0f" y="%.0f"/>`, rows[r], float64(i)*width, float64(y+1)*cellHeight-5)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("</g></svg>\n</svg>\n")
	return []byte(b.String())
}
