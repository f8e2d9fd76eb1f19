package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPackages fails for a package folder of internal/ or test/ that docs/dev/architecture.md does not name in its list.
func TestPackages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/dev/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(page), "## Packages")
	if !found {
		t.Fatal("docs/dev/architecture.md has no list of packages")
	}
	named := map[string]bool{}
	for _, word := range regexp.MustCompile(`[a-z0-9]+`).FindAllString(list, -1) {
		named[word] = true
	}
	for _, top := range []string{"internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return filepath.SkipDir
			case entry.Name() == "doc.go" && !named[filepath.Base(filepath.Dir(file))]:
				t.Errorf("docs/dev/architecture.md does not name %s", filepath.Dir(file))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
