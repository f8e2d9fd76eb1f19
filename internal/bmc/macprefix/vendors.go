package macprefix

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/farrier-dev/farrier/internal/identity"
)

//go:embed vendors.txt
var vendorsText string

// vendors are the makers of servers by their prefixes, which are of several lengths.
var vendors = sync.OnceValue(func() map[string]string {
	by := map[string]string{}
	maker := ""
	for line := range strings.Lines(vendorsText) {
		line = strings.TrimSpace(line)
		if name, isName := strings.CutSuffix(line, ":"); isName {
			maker = name
		} else if line != "" && line[0] != '#' {
			for _, prefix := range strings.Fields(line) {
				by[prefix] = maker
			}
		}
	}
	return by
})

// The lengths, in digits, of what IEEE registers (IEEE 802c): MA-S, MA-M and MA-L.
var vendorDigits = []int{9, 7, 6}

// Vendor is the maker of servers that a MAC address is registered for; empty: it is that of none we know.
func Vendor(mac string) string {
	_, name := vendorOf(identity.MACDigits(mac))
	return name
}

func vendorOf(digits string) (prefix, name string) {
	for _, n := range vendorDigits {
		if len(digits) >= n {
			if name := vendors()[digits[:n]]; name != "" {
				return digits[:n], name
			}
		}
	}
	return "", ""
}

// OverVendors is db laid over the makers that ship with Farrier: what db does not know has at least a manufacturer then, and no credentials.
func (db *Database) OverVendors() *Database {
	return &Database{entries: db.entries, vendors: true}
}
