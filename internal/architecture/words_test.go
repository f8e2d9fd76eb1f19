package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// replaced maps words that once named things here to the terms that replace them
// (docs/dev/dictionary.md). None of them is part of an identifier, of a file name,
// of a flag, or of a page of docs.
var replaced = map[string]string{
	"bend":         "quirk",
	"door":         "first-contact limiter",
	"farewell":     "unsubscribe",
	"fence":        "exclusive lock",
	"fenced":       "locked",
	"introduction": "first status",
	"leftover":     "partial blob",
	"brake":        "throttle",
	"poke":         "poll soon",
	"rouse":        "poll soon",
	"vault":        "credentials",
}

// TestReplacedWordsStayReplaced looks at every identifier, tests' included, and at every file name.
func TestReplacedWordsStayReplaced(t *testing.T) {
	for _, s := range readSources(t) {
		if strings.HasPrefix(s.path, "internal/architecture/") {
			continue
		}
		for _, word := range wordsOf(strings.TrimSuffix(path.Base(s.path), ".go")) {
			if term, found := replaced[word]; found {
				t.Errorf("%s: the file is named %q; say %s", s.path, word, term)
			}
		}
		if s.generated() || strings.HasPrefix(s.path, "hack/site/") { // hack/site speaks of Markdown, in the words of its parser
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, s.path, s.text, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("parse: %v", err)
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			for _, word := range wordsOf(id.Name) {
				if term, found := replaced[word]; found {
					t.Errorf("%s: identifier %s: %q is %s here", fset.Position(id.Pos()), id.Name, word, term)
				}
			}
			return true
		})
	}
}

// TestPagesUseTheTerms looks for the same words in documentation. Decisions and the changelog tell what was, in the words of their time.
func TestPagesUseTheTerms(t *testing.T) {
	word := regexp.MustCompile(`[A-Za-z]+`)
	for _, page := range pages(t) {
		if strings.Contains(page, "/decisions/") || path.Base(page) == "CHANGELOG.md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, w := range word.FindAllString(line, -1) {
				if term, found := replaced[strings.ToLower(w)]; found {
					t.Errorf("%s:%d: %q is %s here", page, i+1, w, term)
				}
			}
		}
	}
}

// pages returns the paths of all Markdown files, slashed, from the root.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "bench/*.md", "bench/*/*.md", "test/*/*.md"} {
		matches, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range matches {
			rel, err := filepath.Rel(root, m)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, filepath.ToSlash(rel))
		}
	}
	return found
}

// wordsOf splits a name at capitals, digits and signs, in lower case: "metaSWRBoot2_test" is meta, swr, boot, test.
func wordsOf(name string) []string {
	var words []string
	runes := []rune(name)
	start := 0
	flush := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			flush(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			flush(i)
			start = i
		}
	}
	flush(len(runes))
	return words
}

func TestWordsOf(t *testing.T) {
	for name, want := range map[string]string{
		"metaSWRBoot2_test": "meta swr boot test", "HTTPBoot": "http boot", "fenced": "fenced", "aFence": "a fence", "": "", "x509Key": "x key",
	} {
		if got := strings.Join(wordsOf(name), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
