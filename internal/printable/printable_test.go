package printable_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/farrier-dev/farrier/internal/printable"
)

// TestLine: nothing that comes from outside moves the cursor, changes the title or reorders what follows.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"rack 1, Ärger, 機械":        "rack 1, Ärger, 機械",
		"a\nb\tc\r\n":              "a b c  ",
		"\x1b[2Jgone":              " [2Jgone",
		"left\u202Eright":          "left right",
		"half \xc3":                "half \uFFFD",
		"a\x1b]0;title\x07b":       "a ]0;title b",
		"no\u0000thing \u009bhere": "no thing  here",
	} {
		if got := printable.Line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"serial", 10, "serial"},
		{"serial", 3, "ser"},
		{"ä", 1, "?"},
		{"a\x00b", 3, "a?b"},
		{"\xff\xfe", 9, "?"},
	} {
		if got := printable.Short(c.text, c.most); got != c.want {
			t.Errorf("%q in %d bytes: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("plain", 3)
	f.Add("\x1b]0;title\x07\u2028", 100)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(most, 0)
		for _, got := range []string{printable.Line(text), printable.Short(text, most)} {
			if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q became %q", text, got)
			}
		}
		if got := printable.Short(text, most); len(got) > most+1 {
			t.Errorf("%d bytes of %d: %q", len(got), most, got)
		}
	})
}
