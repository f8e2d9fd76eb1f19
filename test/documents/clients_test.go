package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestClients compares the versions in docs/clients.md with those that the modules of test/clients require.
func TestClients(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	proven, _, found := strings.Cut(string(page), "## Tried by hand")
	if !found {
		t.Fatal("docs/clients.md does not say what was tried by hand")
	}
	var says []string
	for _, row := range regexp.MustCompile("(?m)^\\|[^|]*\\| `([^`]+)` \\| (v[^ ]+) \\|").FindAllStringSubmatch(proven, -1) {
		says = append(says, row[1]+" "+row[2])
	}
	slices.Sort(says)

	modules, err := filepath.Glob(filepath.Join(root, "test/clients/*/go.mod"))
	if err != nil || len(modules) == 0 {
		t.Fatalf("modules of clients: %v, %v", modules, err)
	}
	var requires []string
	for _, module := range modules {
		text, err := os.ReadFile(module)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range regexp.MustCompile(`(?m)^(?:require )?\s*(github\.com/ironcore-dev/\S+) (v\S+)$`).FindAllStringSubmatch(string(text), -1) {
			requires = append(requires, line[1]+" "+line[2])
		}
	}
	slices.Sort(requires)
	if !slices.Equal(says, requires) {
		t.Errorf("docs/clients.md says\n%s\nand the modules require\n%s", strings.Join(says, "\n"), strings.Join(requires, "\n"))
	}
}
