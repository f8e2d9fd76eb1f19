package lifecycle

import (
	"testing"

	"github.com/farrier-dev/farrier/test/rules"
)

// TestEverySentenceHasItsTest: every row of the tables in docs/lifecycle.md names tests, and those exist.
func TestEverySentenceHasItsTest(t *testing.T) {
	rules.HaveTests(t, "docs/lifecycle.md", 30)
}
