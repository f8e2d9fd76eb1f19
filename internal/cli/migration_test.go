package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const migrationPage = "../../docs/migration.md"

var (
	// pageFile is a file that the page shows: its name ends the line before.
	pageFile = regexp.MustCompile("(?m)`([a-z0-9/.-]+)`:\n\n```[a-z]+\n((?s:.*?))^```$")
	// pageRun is a block of commands and what they print.
	pageRun = regexp.MustCompile("(?m)^```console\n((?s:.*?))^```$")
)

// TestMigrationPage writes the files that docs/migration.md shows, runs its commands of farrier in turn, and compares what they print.
func TestMigrationPage(t *testing.T) {
	content, err := os.ReadFile(migrationPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	t.Chdir(t.TempDir())
	files := pageFile.FindAllStringSubmatch(page, -1)
	for _, file := range files {
		if err := os.MkdirAll(filepath.Dir(file[1]), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file[1], []byte(file[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, block := range pageRun.FindAllStringSubmatch(page, -1) {
		for _, run := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			line, want, _ := strings.Cut(run, "\n")
			program, args, _ := strings.Cut(line, " ")
			if program != "farrier" {
				t.Fatalf("%s runs %q: only commands of farrier can be compared", migrationPage, line)
			}
			var stdout, stderr bytes.Buffer
			code := Main(strings.Fields(args), &stdout, &stderr)
			if fails := strings.Contains(want, "farrier: "); (code != 0) != fails {
				t.Errorf("%s: exit code %d", line, code)
			}
			got := strings.TrimSpace(stdout.String() + stderr.String())
			if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (-page +printed):\n%s\nIt prints:\n%s", line, diff, got)
			}
			ran++
		}
	}
	if len(files) < 10 || ran < 6 {
		t.Errorf("%d files and %d commands were found in %s", len(files), ran, migrationPage)
	}
}
