package main

import (
	"testing"

	"github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/internal/probe/command"
	"github.com/farrier-dev/farrier/test/golden"
)

// TestThePageOfFlagsIsWhatTheProgramsSay: a flag that comes, goes or changes is on the page.
func TestThePageOfFlagsIsWhatTheProgramsSay(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/var/lib") // some defaults depend on who runs the program
	golden.Equal(t, "../../docs/flags.md", flagsPage(programs(), command.Flags()))
}

// TestThePageOfTheAPIIsWhatTheDefinitionsSay: a kind or a field that comes, goes or changes is on the page.
func TestThePageOfTheAPIIsWhatTheDefinitionsSay(t *testing.T) {
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../../docs/reference/api.md", apiPage(crds))
}
