package faults

import (
	"testing"

	"github.com/farrier-dev/farrier/test/named"
)

// TestEveryRuleHasItsTest: the tables of docs/redfish.md name tests, and those exist.
func TestEveryRuleHasItsTest(t *testing.T) {
	named.Tests(t, "docs/redfish.md", 30)
}
