package assignment

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// makeup says what a text is made of. Boot servers read some fifteen labels of each request: they look at each byte once, and most
// labels have nothing in them that somebody has to look at again.
type makeup uint8

const (
	// escaping are % and +, which stand for other characters in a query.
	escaping makeup = 1 << iota
	// unusual are printable characters that a canonical key hardly has: capitals, blanks, slashes.
	unusual
	// foreign are control characters, and bytes that are not of ASCII.
	foreign
)

var makeups = func() (of [256]makeup) {
	for i := range of {
		switch c := byte(i); {
		case c < ' ' || c > '~':
			of[c] = foreign
		case c == '%' || c == '+':
			of[c] = escaping | unusual
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.':
		default:
			of[c] = unusual
		}
	}
	return of
}()

func makeupOf(text string) (m makeup) {
	for i := range len(text) {
		m |= makeups[text[i]]
	}
	return m
}

// refusal says why a text of that makeup is refused: it could begin a new line in a script. Empty: it is not.
func (m makeup) refusal(text string) string {
	switch {
	case m&foreign == 0:
		return ""
	case !utf8.ValidString(text):
		return "not UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "it holds a control character"
	}
	return ""
}
