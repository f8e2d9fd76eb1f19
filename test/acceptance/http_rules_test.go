package acceptance

import (
	"testing"

	"github.com/farrier-dev/farrier/test/rules"
)

// TestEveryAnswerHasItsTest: the tables of docs/http-tests.md name tests, and those exist.
func TestEveryAnswerHasItsTest(t *testing.T) {
	rules.HaveTests(t, "docs/http-tests.md", 45)
}
