package lifecycle

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("`((?:internal|test)/[a-z/]+)\\.(Test[A-Za-z0-9]+)`")

// TestEverySentenceHasItsTest: every row of the tables in docs/lifecycle.md names tests, and those exist.
func TestEverySentenceHasItsTest(t *testing.T) {
	const page = "../../docs/lifecycle.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for row := range strings.Lines(string(text)) {
		if !strings.HasPrefix(row, "|") || strings.HasPrefix(row, "|---") || strings.HasSuffix(row, "| tests |\n") {
			continue
		}
		rows++
		named := testName.FindAllStringSubmatch(row, -1)
		if len(named) == 0 {
			t.Errorf("no test in %s", row)
		}
		for _, n := range named {
			if !declares(t, filepath.Join("../..", n[1]), n[2]) {
				t.Errorf("%s has no %s, which is named in %s", n[1], n[2], row)
			}
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows in %s", rows, page)
	}
}

// declares says whether a test of that name is in the files of a directory.
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
