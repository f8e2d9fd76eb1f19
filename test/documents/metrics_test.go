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

// mentioned are names of series in a text; those of a histogram end in _bucket, _sum or _count there.
var mentioned = regexp.MustCompile(`\bfarrier_[a-z_]*[a-z]`)

// TestMentionedMetrics fails for a series that a page, an alert or the dashboard names and the code does not have.
func TestMentionedMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, name := range metrics(t) {
		for _, end := range []string{"", "_bucket", "_sum", "_count"} {
			known[name+end] = true
		}
	}
	texts := pages(t)
	for _, file := range []string{"config/monitoring/rules.yaml", "config/monitoring/dashboard.json"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	delete(texts, "CHANGELOG.md") // tells of what is gone, too
	for file, text := range texts {
		for _, name := range mentioned.FindAllString(text, -1) {
			if !known[name] {
				t.Errorf("%s names %s, which is not in the code", file, name)
			}
		}
	}
}
