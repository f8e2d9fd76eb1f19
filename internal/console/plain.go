package console

import (
	"strings"
	"unicode"
)

// Plain is text without the sequences that control terminals (ECMA-48 §5.4) and without control characters other than tabs and ends of lines.
func Plain(text string) string {
	var out strings.Builder
	rest := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	for i := 0; i < len(rest); i++ {
		switch r := rest[i]; {
		case r == 0x1b:
			i = sequenceEnd(rest, i)
		case r == '\n' || r == '\t':
			out.WriteRune(r)
		case r == '\r' || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// sequenceEnd is the index of the last rune of the sequence that begins at i.
func sequenceEnd(text []rune, i int) int {
	if i+1 >= len(text) {
		return i
	}
	switch text[i+1] {
	case '[': // CSI: parameters and intermediates, then a final
		for j := i + 2; j < len(text); j++ {
			if text[j] < 0x20 || text[j] > 0x3f {
				return j
			}
		}
		return len(text) - 1
	case ']', 'P', '_', '^', 'X': // a string, up to BEL or ST
		for j := i + 2; j < len(text); j++ {
			if text[j] == 0x07 || text[j] == '\n' {
				return j
			}
			if text[j] == 0x1b && j+1 < len(text) && text[j+1] == '\\' {
				return j + 1
			}
		}
		return len(text) - 1
	case '(', ')', '*', '+', '#', '%':
		return min(i+2, len(text)-1)
	}
	return i + 1
}
