package lifecycle

import (
	"testing"

	"github.com/farrier-dev/farrier/test/named"
)

// TestEverySentenceHasItsTest: every row of the tables in docs/lifecycle.md names tests, and those exist.
func TestEverySentenceHasItsTest(t *testing.T) {
	named.Tests(t, "docs/lifecycle.md", 30)
}
