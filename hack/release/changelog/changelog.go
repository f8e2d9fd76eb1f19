package changelog

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// heading is that of a version, with the day on which it was released: ## [0.1.0] - 2026-02-03.
var heading = regexp.MustCompile(`(?m)^## \[([^\]\n]+)\](?: - (\S+))?[ \t]*$`)

// link is one of the definitions at the end of the page.
var link = regexp.MustCompile(`(?m)^\[[^\]\n]+\]: \S+\n`)

var day = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// ErrNoSection says that the page has nothing for a version.
var ErrNoSection = errors.New("no section")

// Notes returns what the page says of a version, which is spelled without v.
func Notes(page, version string) (string, error) {
	sections := heading.FindAllStringSubmatchIndex(page, -1)
	for i, at := range sections {
		if page[at[2]:at[3]] != version {
			continue
		}
		if at[4] < 0 || !day.MatchString(page[at[4]:at[5]]) {
			return "", fmt.Errorf("the heading of %s has no day: want ## [%s] - 2026-01-31", version, version)
		}
		end := len(page)
		if i+1 < len(sections) {
			end = sections[i+1][0]
		}
		notes := strings.TrimSpace(link.ReplaceAllString(page[at[1]:end]+"\n", ""))
		if notes == "" {
			return "", fmt.Errorf("the section %s is empty", version)
		}
		return notes + "\n", nil
	}
	return "", fmt.Errorf("%w ## [%s] - YEAR-MONTH-DAY: move there what [Unreleased] has", ErrNoSection, version)
}
