package faults

import (
	"testing"

	"github.com/farrier-dev/farrier/test/rules"
)

// TestEveryRuleHasItsTest: the tables of docs/redfish.md name tests, and those exist.
func TestEveryRuleHasItsTest(t *testing.T) {
	rules.HaveTests(t, "docs/redfish.md", 30)
}
