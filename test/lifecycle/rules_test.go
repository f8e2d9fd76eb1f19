package lifecycle

import (
	"testing"

	"github.com/farrier-dev/farrier/test/rules"
)

// TestEverySentenceHasItsTest: every row of the tables in test/lifecycle/README.md names tests, and those exist.
func TestEverySentenceHasItsTest(t *testing.T) {
	rules.HaveTests(t, "test/lifecycle/README.md", 30)
}
