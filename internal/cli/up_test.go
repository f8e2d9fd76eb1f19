package cli

import (
	"testing"

	"github.com/farrier-dev/farrier/internal/program/configfile/configfiletest"
)

// TestAFileSetsEveryFlagOfUp: --config takes what the command line takes.
func TestAFileSetsEveryFlagOfUp(t *testing.T) { configfiletest.EveryFlag(t, newUp) }
