package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	inCode = regexp.MustCompile(`(?:NewDesc\(|Name: +)"(farrier_[a-z_]+)"(\+series)?`)
	series = regexp.MustCompile(`of\("([a-z_]*)",`)
	inPage = regexp.MustCompile("(?m)^\\| `(farrier_[a-z_]+)` \\|")
)

// TestMetrics fails for a metric that docs/metrics.md lacks, and for one that it has and the code does not.
func TestMetrics(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range inPage.FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = true
	}
	found := 0
	for _, name := range metrics(t) {
		found++
		if !documented[name] {
			t.Errorf("docs/metrics.md lacks %s", name)
		}
		delete(documented, name)
	}
	if found < 20 {
		t.Errorf("only %d metrics in the code", found)
	}
	for name := range documented {
		t.Errorf("docs/metrics.md has %s, which is not in the code", name)
	}
}

// metrics are the names of all metrics in the code.
func metrics(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range inCode.FindAllStringSubmatch(string(text), -1) {
			if m[2] == "" {
				names = append(names, m[1])
				continue
			}
			for _, end := range series.FindAllStringSubmatch(string(text), -1) {
				names = append(names, m[1]+end[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
