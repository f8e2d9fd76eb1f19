package acceptance

import (
	"testing"

	"github.com/farrier-dev/farrier/test/rules"
)

// TestEveryAnswerHasItsTest: the tables of test/acceptance/http.md name tests, and those exist.
func TestEveryAnswerHasItsTest(t *testing.T) {
	rules.HaveTests(t, "test/acceptance/http.md", 45)
}
