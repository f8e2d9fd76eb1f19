package faults

import (
	"testing"

	"github.com/farrier-dev/farrier/test/rules"
)

// TestEveryRuleHasItsTest: the tables of test/faults/README.md name tests, and those exist.
func TestEveryRuleHasItsTest(t *testing.T) {
	rules.HaveTests(t, "test/faults/README.md", 30)
}
