package metal

import (
	"testing"

	"github.com/farrier-dev/farrier/test/clients/takeover"
)

// TestTakeover: Farrier takes over from the metal-operator of this module, without a word to the BMCs of claimed machines.
func TestTakeover(t *testing.T) { takeover.Test(t, "../../..") }
