package attacks

import (
	"testing"

	"github.com/farrier-dev/farrier/test/rules"
)

// TestEveryThreatHasItsTest: the tables of docs/security.md name tests, and those exist.
func TestEveryThreatHasItsTest(t *testing.T) { rules.HaveTests(t, "docs/security.md", 50) }
