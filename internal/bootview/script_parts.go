package bootview

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxScript bounds the text of a script that comes from elsewhere, in bytes: a Secret holds no more.
const MaxScript = 1 << 20

// Parts are what a script is made of, for whoever sends it to another boot server: its text, with the marks of its holes unless it is
// exact, and the machine's own part. ScriptOf makes the script of them again.
func (s Script) Parts() (text, own string, exact bool) {
	t := s.value()
	return t.text, s.own, t.exact
}

// ScriptOf makes a script of its parts. It refuses what no function of this package could have made.
func ScriptOf(text []byte, own string, exact bool) (Script, error) {
	switch {
	case len(text) == 0:
		return Script{}, &ValueError{"script", "it has no text"}
	case len(text) > MaxScript:
		return Script{}, &ValueError{"script", fmt.Sprintf("longer than %d bytes", MaxScript)}
	case exact && own != "":
		return Script{}, &ValueError{"script", "an exact script has no part of a machine's own"}
	case exact:
		return CustomScript(text), nil
	}
	if err := checkTemplate(string(text)); err != nil {
		return Script{}, err
	}
	return newTemplate(string(text), "").WithOwn(own)
}

// WithOwn is a template with another part of a machine's own. Who has made a script of a text before need not have it checked again.
func (s Script) WithOwn(own string) (Script, error) {
	if err := CheckURL("own part", own); err != nil {
		return Script{}, err
	}
	if t := s.value(); own != "" && (t.exact || !strings.Contains(t.text, ownMark)) {
		return Script{}, &ValueError{"script", "it has no hole for the machine's own part"}
	}
	s.own = strings.Clone(own)
	return s, nil
}

// checkTemplate refuses a text that is no iPXE script, or has holes that AppendTo would not fill.
func checkTemplate(text string) error {
	switch {
	case !strings.HasPrefix(text, magic):
		return &ValueError{"script", "it does not begin with " + strings.TrimSpace(magic)}
	case !utf8.ValidString(text):
		return &ValueError{"script", "not valid UTF-8"}
	case strings.Count(text, ownMark) > 1:
		return &ValueError{"script", "more than one hole for the machine's own part"}
	}
	for i, r := range text {
		if mark := string(r); unicode.IsControl(r) && r != '\n' && mark != baseMark && mark != ownMark {
			return &ValueError{"script", fmt.Sprintf("control character %U at byte %d", r, i)}
		}
	}
	return nil
}
