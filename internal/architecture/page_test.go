package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestImportsGoDownThePage: docs/dev/architecture.md lists the folders of internal in an order in which each imports only those below it, so that
// no two of them need each other over whatever detour.
func TestImportsGoDownThePage(t *testing.T) {
	readSources(t) // so that a changed import is a reason to run again
	text, err := os.ReadFile(filepath.Join(root, "docs", "dev", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	places := listed(string(text))
	if len(places) == 0 {
		t.Fatal("the page lists no folder of internal")
	}
	imports := load(t, ".")
	for _, v := range upward(imports, places) {
		t.Error(v)
	}
}

// listed returns the place of each folder in the list of packages of the page: indented by two blanks, under "internal/".
func listed(page string) map[string]int {
	places := map[string]int{}
	_, list, _ := strings.Cut(page, "\ninternal/\n")
	folder := regexp.MustCompile(`^  ([a-z]+)/`)
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, " ") {
			break
		}
		if m := folder.FindStringSubmatch(line); m != nil {
			places[m[1]] = len(places)
		}
	}
	return places
}

// upward names the folders that the page does not list, and the imports that run up its list.
func upward(imports graph, places map[string]int) []string {
	const prefix = module + "/internal/"
	folderOf := func(importPath string) (string, bool) {
		rest, found := strings.CutPrefix(importPath, prefix)
		first, _, _ := strings.Cut(rest, "/")
		return first, found
	}
	var found []string
	seen := map[string]bool{}
	say := func(text string) {
		if !seen[text] {
			seen[text] = true
			found = append(found, text)
		}
	}
	for from, to := range imports {
		above, ok := folderOf(from)
		if !ok {
			continue
		}
		here, known := places[above]
		if !known {
			say("internal/" + above + " is not listed")
			continue
		}
		for _, other := range to {
			if below, ok := folderOf(other); ok && below != above && places[below] < here {
				say(from + " imports " + other + ", whose folder is listed above its own")
			}
		}
	}
	return found
}

func TestUpward(t *testing.T) {
	places := listed("text\n```\ncmd/\ninternal/\n  top/      what is seen\n    inner/  a part\n  middle/\n  low/\ntest/\n  late/\n```\n")
	if len(places) != 3 || places["low"] != 2 {
		t.Fatalf("listed %v", places)
	}
	const in = module + "/internal/"
	down := graph{in + "top/inner": {in + "low", in + "top", "example.org/x"}, module + "/cmd/x": {in + "top"}}
	if got := upward(down, places); len(got) != 0 {
		t.Errorf("%v", got)
	}
	up := graph{in + "low": {in + "middle/part"}, in + "new": {in + "low"}}
	if got := upward(up, places); len(got) != 2 {
		t.Errorf("%d of 2 found: %v", len(got), got)
	}
}
