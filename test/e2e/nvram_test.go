package e2e

import (
	"testing"

	store "github.com/farrier-dev/farrier/internal/sim/vm/nvram"
)

// nvram are the variables that a machine's firmware finds on its first start: what a person sets in its menu, or a BMC over
// Redfish.
type nvram struct {
	// bootURL is a boot option of the firmware, and the only one; empty: what DHCP names.
	bootURL string
	// trusted are the authorities, PEM, of servers that it speaks TLS with.
	trusted []byte
}

// writeTo puts the variables into a variable store.
func (n nvram) writeTo(t *testing.T, content []byte) {
	t.Helper()
	if err := (store.Variables{BootURL: n.bootURL, Trusted: n.trusted}).WriteTo(content); err != nil {
		t.Fatal(err)
	}
}
