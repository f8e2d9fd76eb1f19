package changelog

import (
	"errors"
	"os"
	"strings"
	"testing"
)

const page = `# Changelog

## [Unreleased]

- Later.

## [0.2.0] - 2026-03-01

### Added

- More.

## [0.1.0] - 2026-02-03

- First.

## [0.0.9]

- No day.

## [0.0.8] - 2026-01-01

[Unreleased]: https://example.org/compare
[0.2.0]: https://example.org/0.2.0
`

func TestNotes(t *testing.T) {
	for version, want := range map[string]string{"0.2.0": "### Added\n\n- More.\n", "0.1.0": "- First.\n"} {
		if got, err := Notes(page, version); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", version, got, err, want)
		}
	}
	if _, err := Notes(page, "0.3.0"); !errors.Is(err, ErrNoSection) {
		t.Errorf("a version that the page lacks: %v", err)
	}
	for version, part := range map[string]string{"0.0.9": "has no day", "0.0.8": "is empty", "Unreleased": "has no day"} {
		if got, err := Notes(page, version); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q, %v, want an error with %q", version, got, err, part)
		}
	}
}

// TestOwnPage: the page of this repository has the form that Notes reads, and begins with what is not released.
func TestOwnPage(t *testing.T) {
	text, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "## ") && !heading.MatchString(line) {
			t.Errorf("CHANGELOG.md:%d: %q is no heading of a version", i+1, line)
		}
	}
	sections := heading.FindAllStringSubmatch(string(text), -1)
	if len(sections) == 0 || sections[0][1] != "Unreleased" {
		t.Fatalf("CHANGELOG.md begins with %q, want [Unreleased]", sections)
	}
	for _, s := range sections[1:] {
		if _, err := Notes(string(text), s[1]); err != nil {
			t.Errorf("CHANGELOG.md: %v", err)
		}
	}
}
