package documents

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the directory of the project.
const root = "../.."

// TestLinks fails for a relative link to a file that does not exist, and for an anchor that the linked page does not have.
func TestLinks(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, target := range links(text) {
			file, anchor, _ := strings.Cut(target, "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
				continue
			}
			if anchor != "" && !anchors(all[to])[anchor] {
				t.Errorf("%s links to %s, and that page has no such heading", name, target)
			}
		}
	}
}

// TestPaths fails for a path of the repository in backticks that does not exist.
func TestPaths(t *testing.T) {
	for name, text := range pages(t) {
		if name == "CHANGELOG.md" { // tells of what is gone, too
			continue
		}
		for _, mentioned := range paths(text) {
			if !exists(t, mentioned) {
				t.Errorf("%s mentions %s, which does not exist", name, mentioned)
			}
		}
	}
}

// TestReading checks the reading of pages itself.
func TestReading(t *testing.T) {
	const text = "# One `two`: three\n\n[a](b.md#c) [d](https://e.example) ![f](g.png)\n\n```\n[h](i.md) `internal/j`\n```\n" +
		"`internal/k/{l,m}.go` `cmd/n.TestO` `internal/<p>` `test/q.TestR`\n\n# One `two`: three\n"
	if got := strings.Join(links(text), " "); got != "b.md#c g.png" {
		t.Errorf("links: %s", got)
	}
	if got := strings.Join(paths(text), " "); got != "internal/k/l.go internal/k/m.go cmd/n test/q" {
		t.Errorf("paths: %s", got)
	}
	if got := anchors(text); !got["one-two-three"] || !got["one-two-three-1"] {
		t.Errorf("anchors: %v", got)
	}
}

// pages are all Markdown files by their slash-separated path, without those in testdata.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "bin" || entry.Name() == ".git"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(file) != ".md":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		found[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("only %d pages below %s", len(found), root)
	}
	return found
}

var (
	codeBlock = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```[ ]*$")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code      = regexp.MustCompile("`([^`\n]+)`")
	heading   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	inside    = regexp.MustCompile(`^(api|bench|cmd|config|docs|hack|internal|test)/[A-Za-z0-9_./{},*-]+$`)
	testName  = regexp.MustCompile(`\.(Test|Benchmark|Fuzz)[A-Za-z0-9]+$`)
	marks     = regexp.MustCompile("[^a-z0-9 _-]")
	braces    = regexp.MustCompile(`^(.*)\{([^}]*)\}(.*)$`)
)

// links are the relative links of a page. What looks like one in code is none.
func links(text string) []string {
	var found []string
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), ""), -1) {
		if !strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "mailto:") {
			found = append(found, m[1])
		}
	}
	return found
}

// paths are the paths of the repository that a page names in backticks; of a test they are its package.
func paths(text string) []string {
	var found []string
	for _, m := range code.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		name := testName.ReplaceAllString(m[1], "")
		if !inside.MatchString(name) {
			continue
		}
		found = append(found, alternatives(name)...)
	}
	return found
}

// alternatives expands a{b,c} as a shell does, once.
func alternatives(name string) []string {
	m := braces.FindStringSubmatch(name)
	if m == nil {
		return []string{name}
	}
	var all []string
	for _, middle := range strings.Split(m[2], ",") {
		all = append(all, m[1]+middle+m[3])
	}
	return all
}

// exists reports whether a path, which may hold a wildcard, names something.
func exists(t *testing.T, name string) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return len(found) > 0
}

// anchors are those that GitHub gives the headings of a page: lower case, marks removed, hyphens for blanks, and a number from
// the second one of a name on.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllString(strings.ReplaceAll(m[1], "[", ""), "")
		name := strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
		unique := name
		for i := 1; found[unique]; i++ {
			unique = name + "-" + string(rune('0'+i))
		}
		found[unique] = true
	}
	return found
}
