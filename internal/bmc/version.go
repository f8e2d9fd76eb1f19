package bmc

import (
	"cmp"
	"strings"
	"unicode"
)

// CompareVersions compares versions of firmware as versions: 2.10 is newer than 2.9, and 2.4 is 2.4.0. What
// vendors put around a version does not count: a leading v, and a date or note in parentheses at the
// end, as in "U46 v2.50 (11/10/2022)".
func CompareVersions(a, b string) int {
	x, y := versionParts(a), versionParts(b)
	for i := range max(len(x), len(y)) {
		if c := comparePart(part(x, i), part(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

// part is the i-th part; a version that is shorter goes on with zeros.
func part(parts []string, i int) string {
	if i < len(parts) {
		return parts[i]
	}
	return "0"
}

// versionParts are the runs of digits and of letters.
func versionParts(v string) []string {
	v = strings.TrimSpace(v)
	if open := strings.LastIndexByte(v, '('); open > 0 && strings.HasSuffix(v, ")") {
		v = v[:open]
	}
	var parts []string
	kind := 0 // of the run that is open: 1 digits, 2 letters
	for _, r := range strings.ToLower(v) {
		is := 0
		switch {
		case r >= '0' && r <= '9':
			is = 1
		case unicode.IsLetter(r):
			is = 2
		}
		switch {
		case is != 0 && is == kind:
			parts[len(parts)-1] += string(r)
		case is != 0:
			parts = append(parts, string(r))
		}
		kind = is
	}
	kept := parts[:0]
	for _, p := range parts {
		if p != "v" {
			kept = append(kept, p)
		}
	}
	return kept
}

// comparePart compares numbers by value, however long they are, and words by letters. A word, such as
// that of a preview, is older than a number in its place.
func comparePart(a, b string) int {
	number := func(s string) bool { return s[0] >= '0' && s[0] <= '9' }
	switch {
	case number(a) && number(b):
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	case number(a):
		return 1
	case number(b):
		return -1
	}
	return strings.Compare(a, b)
}
