package server

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the page of the states anew")

func TestThePageOfTheStatesIsWhatTheCodeSays(t *testing.T) {
	const page = "../../../docs/server-states.md"
	if *update {
		if err := os.WriteFile(page, []byte(statesPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(statesPage(), string(got)); diff != "" {
		t.Errorf("docs/server-states.md is stale, run `make generate` (-code +page)\n%s", diff)
	}
}

func TestTheFilesOfTheStatesExist(t *testing.T) {
	for _, s := range states {
		for file := range strings.SplitSeq(s.file, ", ") {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", s.state, err)
			}
		}
	}
}
