package bounded

import "strings"

// longest is how long a word may be, in bytes, of which there is one copy. Longer ones are seldom said twice, and may be a stranger's.
const longest = 512

// Words keeps one copy of each string that many have in common: of those that were met last, up to a limit. Package unique forgets a string at the next
// collection, though it is in use: it knows of handles alone, which would be kept beside each string. Words is safe for concurrent use.
type Words struct{ copies *Cache[string, string] }

// NewWords makes an empty collection of at most limit words.
func NewWords(limit int) *Words { return &Words{NewCache[string, string](limit)} }

// Once is the one copy of a string, or a copy of its own of a very long one. It is no piece of what the string was part of.
func (w *Words) Once(s string) string {
	switch {
	case s == "":
		return ""
	case len(s) > longest:
		return strings.Clone(s)
	}
	if kept, ok := w.copies.Get(s); ok {
		return kept
	}
	kept := strings.Clone(s)
	w.copies.Add(kept, kept)
	return kept
}
