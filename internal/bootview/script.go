package bootview

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"
)

// Script is an iPXE script ready to be sent, but for the base URL of the boot
// server that answers. The zero value is no script. It is immutable.
type Script struct{ pieces []piece }

// piece is text, after the base URL if base is set.
type piece struct {
	text string
	base bool
}

// IsZero says whether there is no script.
func (s Script) IsZero() bool { return len(s.pieces) == 0 }

// NeedsBase says whether the script has holes.
func (s Script) NeedsBase() bool {
	for i := range s.pieces {
		if s.pieces[i].base {
			return true
		}
	}
	return false
}

// Len is the number of bytes of the script for this base.
func (s Script) Len(base string) int {
	n := 0
	for i := range s.pieces {
		if s.pieces[i].base {
			n += len(base)
		}
		n += len(s.pieces[i].text)
	}
	return n
}

// AppendTo appends the script for a boot server that machines reach at base, a
// URL without a slash at its end. It does not allocate when dst has Len(base) to spare.
func (s Script) AppendTo(dst []byte, base string) []byte {
	for i := range s.pieces {
		if s.pieces[i].base {
			dst = append(dst, base...)
		}
		dst = append(dst, s.pieces[i].text...)
	}
	return dst
}

// Render returns the script for a boot server that machines reach at base.
func (s Script) Render(base string) []byte {
	return s.AppendTo(make([]byte, 0, s.Len(base)), base)
}

// Equal says whether two scripts are the same text with the same holes.
func (s Script) Equal(o Script) bool {
	// A NUL cannot be in a checked value and marks the hole here; a custom
	// script that holds one has no holes and compares as what it is.
	return len(s.pieces) == 0 == (len(o.pieces) == 0) && string(s.Render("\x00")) == string(o.Render("\x00"))
}

// CustomScript is a script that somebody wrote: its exact bytes, whatever they are.
func CustomScript(script []byte) Script {
	if len(script) == 0 {
		return Script{}
	}
	return Script{pieces: []piece{{text: string(script)}}}
}

// scriptBuilder gathers pieces. Text that many machines share is kept once.
type scriptBuilder struct{ pieces []piece }

// shared adds text that other machines have as well.
func (b *scriptBuilder) shared(text string) {
	b.add(piece{text: unique.Make(text).Value()})
}

// own adds text that belongs to this machine alone.
func (b *scriptBuilder) own(text string) { b.add(piece{text: text}) }

// hole adds the base URL of the answering boot server.
func (b *scriptBuilder) hole() { b.add(piece{base: true}) }

// url adds a URL; with a hole instead of base, if it starts with it.
func (b *scriptBuilder) url(url, base string) {
	if base != "" {
		if rest, ok := strings.CutPrefix(url, base); ok && (rest == "" || strings.ContainsRune("/?", rune(rest[0]))) {
			b.hole()
			url = rest
		}
	}
	b.shared(url)
}

func (b *scriptBuilder) add(p piece) {
	if p == (piece{}) {
		return
	}
	if n := len(b.pieces); n > 0 && b.pieces[n-1].text == "" && !p.base {
		b.pieces[n-1].text = p.text
		return
	}
	b.pieces = append(b.pieces, p)
}

func (b *scriptBuilder) script() Script { return Script{pieces: b.pieces} }

// ValueError says which value may not enter a script, and why. It does not hold
// the value, which may be a secret.
type ValueError struct{ Field, Problem string }

func (e *ValueError) Error() string { return e.Field + ": " + e.Problem }

// checkText refuses what would end the line: iPXE runs what follows as a command
// of its own.
func checkText(field, value string) error {
	if !utf8.ValidString(value) {
		return &ValueError{field, "not valid UTF-8"}
	}
	for i, r := range value {
		switch {
		case r == '\n' || r == '\r':
			return &ValueError{field, fmt.Sprintf("newline at byte %d", i)}
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			return &ValueError{field, fmt.Sprintf("control character %U at byte %d", r, i)}
		}
	}
	return nil
}

// CheckURL refuses what a URL in a script may not hold: what would end the line, and
// white space, at which iPXE splits words.
func CheckURL(field, value string) error {
	if err := checkText(field, value); err != nil {
		return err
	}
	if i := strings.IndexFunc(value, unicode.IsSpace); i >= 0 {
		return &ValueError{field, fmt.Sprintf("white space at byte %d", i)}
	}
	return nil
}

// checkArguments refuses words that end an iPXE command.
func checkArguments(field, value string) error {
	if err := checkText(field, value); err != nil {
		return err
	}
	for _, word := range strings.Fields(value) {
		if word == "||" || word == "&&" {
			return &ValueError{field, fmt.Sprintf("%q would end the kernel command", word)}
		}
	}
	return nil
}

// checkToken allows the unreserved characters of RFC 3986 §2.3: a token goes into
// a query as it is.
func checkToken(field, value string) error {
	for i := range len(value) {
		c := value[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && strings.IndexByte("-._~", c) < 0 {
			return &ValueError{field, fmt.Sprintf("byte %d would have to be escaped in a URL", i)}
		}
	}
	return nil
}
