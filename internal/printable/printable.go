package printable

import (
	"strings"
	"unicode"
)

// Line is one line of the text: a space stands for each character that cannot be printed.
func Line(text string) string { return With(' ', text) }

// With puts the replacement in the place of each character that cannot be printed (unicode.IsPrint): controls, line ends, and the
// formatting characters that turn the direction of text. A byte that is no UTF-8 becomes U+FFFD.
func With(replacement rune, text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return replacement
	}, text)
}

// Short is what of the text fits into so many bytes, fit to be kept: a question mark stands for what cannot be printed or is no UTF-8.
func Short(text string, most int) string {
	return With('?', strings.ToValidUTF8(text[:min(len(text), most)], "?"))
}
