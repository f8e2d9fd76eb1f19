package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the directory of the project, seen from a package below test/.
const root = "../.."

var testName = regexp.MustCompile("`((?:cmd|internal|test)/[a-z0-9/]+|config)\\.(Test[A-Za-z0-9]+)`")

// HaveTests fails a test when the page, a path below the project's root, has a row without a test, or with one that does
// not exist, in a table whose last column is headed "tests"; and when there are fewer such rows than least, because
// then it is the reading that went wrong.
func HaveTests(t *testing.T, page string, least int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	found := rows(string(text))
	if len(found) < least {
		t.Errorf("only %d rows in %s", len(found), page)
	}
	for _, row := range found {
		named := testName.FindAllStringSubmatch(row, -1)
		if len(named) == 0 {
			t.Errorf("no test in %s", row)
		}
		for _, n := range named {
			if !declares(t, filepath.Join(root, n[1]), n[2]) {
				t.Errorf("%s has no %s, which is named in %s", n[1], n[2], row)
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

// declares reports whether a test of that name is in the files of a directory.
func declares(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
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
