package process

import (
	"testing"

	"github.com/farrier-dev/farrier/internal/program/configfile/configfiletest"
)

// TestAFileSetsEveryFlag: --config takes what the command line takes.
func TestAFileSetsEveryFlag(t *testing.T) { configfiletest.EveryFlag(t, Command) }
