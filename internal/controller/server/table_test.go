package server

import (
	"os"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/golden"
)

func TestThePageOfTheStatesIsWhatTheCodeSays(t *testing.T) {
	golden.Equal(t, "../../../docs/server-states.md", statesPage())
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
