package bootview

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"
)

// Script is an iPXE script ready to be sent, but for the base URL of the boot
// server that answers. The zero value is no script. It is immutable.
//
// What many machines have in common is a template that is kept once; a machine's own
// part is its token. Sending a script therefore touches little memory that sending
// another machine's has not just touched.
type Script struct {
	// text is kept once for all scripts that have it; the zero handle: no script.
	text unique.Handle[scriptText]
	own  string
}

// scriptText is what a Script has in common with others: a template, which has a byte for every hole, or the exact bytes.
type scriptText struct {
	text  string
	exact bool
}

// What stands for a hole in a template. It cannot be there otherwise: whatever goes
// into one is checked for control characters.
const (
	baseMark = "\x00" // the base URL, wherever it is needed
	ownMark  = "\x01" // the machine's own part, once
)

func newTemplate(text, own string) Script {
	return Script{text: unique.Make(scriptText{text: text}), own: own}
}

// CustomScript is a script that somebody wrote: its exact bytes, whatever they are.
func CustomScript(script []byte) Script {
	if len(script) == 0 {
		return Script{}
	}
	return Script{text: unique.Make(scriptText{string(script), true})}
}

// IsZero reports whether there is no script.
func (s Script) IsZero() bool { return s.text == unique.Handle[scriptText]{} }

// value is the zero text for no script.
func (s Script) value() scriptText {
	if s.IsZero() {
		return scriptText{}
	}
	return s.text.Value()
}

// NeedsBase reports whether the script has holes for a base URL.
func (s Script) NeedsBase() bool {
	t := s.value()
	return !t.exact && strings.Contains(t.text, baseMark)
}

// Len is the number of bytes of the script for this base.
func (s Script) Len(base string) int {
	t := s.value()
	if t.exact {
		return len(t.text)
	}
	return len(t.text) + strings.Count(t.text, baseMark)*(len(base)-1) + strings.Count(t.text, ownMark)*(len(s.own)-1)
}

// HasSecret reports whether part of the script is for its machine alone.
func (s Script) HasSecret() bool { return s.own != "" }

// MayHaveSecret reports whether something of the script may be secret: a part for its machine alone, or whatever somebody wrote. The
// script that sends a machine to its disk is exact as well, and the same for all.
func (s Script) MayHaveSecret() bool {
	return s.HasSecret() || s.value().exact && !s.Equal(ExitScript())
}

// NamesImage reports whether the script loads layers of images from the boot server that sends it.
func (s Script) NamesImage() bool {
	t := s.value()
	return !t.exact && strings.Contains(t.text, baseMark+"/image?")
}

// Public is the script without that part, for anybody.
func (s Script) Public() Script {
	s.own = ""
	return s
}

// AppendTo appends the script for a boot server that machines reach at base, a
// URL without a slash at its end. It does not allocate when dst has Len(base) to spare.
func (s Script) AppendTo(dst []byte, base string) []byte {
	t := s.value()
	if t.exact {
		return append(dst, t.text...)
	}
	text := t.text
	if before, after, found := strings.Cut(text, ownMark); found {
		dst = appendBased(dst, before, base)
		dst = append(dst, s.own...)
		text = after
	}
	return appendBased(dst, text, base)
}

func appendBased(dst []byte, text, base string) []byte {
	for {
		before, after, found := strings.Cut(text, baseMark)
		dst = append(dst, before...)
		if !found {
			return dst
		}
		dst = append(dst, base...)
		text = after
	}
}

// Render returns the script for a boot server that machines reach at base.
func (s Script) Render(base string) []byte {
	return s.AppendTo(make([]byte, 0, s.Len(base)), base)
}

// Equal reports whether two scripts are the same text with the same holes.
func (s Script) Equal(o Script) bool { return s == o }

// urlTemplate returns a URL; with a hole instead of base, if it starts with it.
func urlTemplate(raw, base string) string {
	if base != "" {
		if rest, ok := strings.CutPrefix(raw, base); ok && (rest == "" || rest[0] == '/' || rest[0] == '?') {
			return baseMark + rest
		}
	}
	return raw
}

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

// Fetchable reports whether firmware fetches what a URL names (UEFI 2.10 §24.7: HTTP and HTTPS).
func Fetchable(value string) bool {
	u, err := url.Parse(value)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
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

// CheckArguments refuses what kernel arguments in a script may not hold: what would end the line, and words
// that end an iPXE command.
func CheckArguments(field, value string) error {
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
