package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tested are the pages whose tables name tests, and the rows that each has at least: with fewer it is the reading that went wrong.
var tested = map[string]int{
	"docs/security.md":         50,
	"test/acceptance/http.md":  45,
	"test/faults/README.md":    30,
	"test/lifecycle/README.md": 30,
}

// TestRows fails for a row without a test in a table whose last column is headed "tests".
func TestRows(t *testing.T) {
	for page, least := range tested {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		found := rows(string(text))
		if len(found) < least {
			t.Errorf("only %d rows in %s", len(found), page)
		}
		for _, row := range found {
			if len(namedTests(row)) == 0 {
				t.Errorf("%s: no test in %s", page, row)
			}
		}
	}
}

// TestTests fails for a test that a page names as `package.Test` and that does not exist.
func TestTests(t *testing.T) {
	for name, text := range pages(t) {
		if name == "CHANGELOG.md" { // tells of what is gone, too
			continue
		}
		for _, named := range namedTests(codeBlock.ReplaceAllString(text, "")) {
			if !declares(t, named.dir, named.test) {
				t.Errorf("%s names %s of %s, which does not exist", name, named.test, named.dir)
			}
		}
	}
}

// rows are those of all tables whose last column is headed "tests".
func rows(text string) []string {
	var found []string
	inside := false
	for line := range strings.Lines(text) {
		row := strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(row, "|"):
			inside = false
		case strings.HasSuffix(row, "| tests |"):
			inside = true
		case inside && !strings.HasPrefix(row, "|---"):
			found = append(found, row)
		}
	}
	return found
}

// named is a test by the directory of its package and its name.
type named struct{ dir, test string }

var testOfPackage = regexp.MustCompile("`((?:bench|cmd|hack|internal|test)/[a-z0-9/-]+|config)\\.((?:Test|Benchmark|Fuzz)[A-Za-z0-9]+)`")

func namedTests(text string) []named {
	var found []named
	for _, m := range testOfPackage.FindAllStringSubmatch(text, -1) {
		found = append(found, named{dir: m[1], test: m[2]})
	}
	return found
}

// declares reports whether a test of that name is in the files of a directory.
func declares(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
