package dhcp

import (
	"crypto/sha256"
	"net"
	"slices"

	"github.com/farrier-dev/farrier/internal/identity"
)

// SearchMAC is that of the client which asks for other DHCP servers on an interface. It is locally administered (IEEE 802 §8.4) and always the same for the interface,
// so that servers do not set aside one address after another for it.
func SearchMAC(of net.HardwareAddr) net.HardwareAddr {
	sum := sha256.Sum256(append([]byte("farrier: search for DHCP servers "), of...))
	const local, group = 2, 1
	sum[0] = sum[0]&^group | local
	return net.HardwareAddr(sum[:6])
}

// Searches are the MAC addresses of searches of our own, which get no answer.
type Searches []string

// Add adds the search on an interface.
func (s *Searches) Add(of net.HardwareAddr) {
	*s = append(*s, identity.MachineMAC(SearchMAC(of).String()))
}

// Are reports whether a client is one of them.
func (s Searches) Are(c Client) bool { return c.MAC != "" && slices.Contains(s, c.MAC) }
