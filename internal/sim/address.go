package sim

import (
	"fmt"
	"net"
	"net/netip"
)

// defaultNetwork is the part of the loopback network that racks live in.
var defaultNetwork = netip.MustParsePrefix("127.64.0.0/16")

// plan gives every BMC and every machine an address: BMCs from the start of the
// network, machines from its middle.
type plan struct{ network netip.Prefix }

func newPlan(network netip.Prefix, bmcs, systemsPerBMC int) (plan, error) {
	if !network.IsValid() {
		network = defaultNetwork
	}
	network = network.Masked()
	if !network.Addr().Is4() || !network.Addr().IsLoopback() {
		return plan{}, fmt.Errorf("network %s: not a part of 127.0.0.0/8", network)
	}
	p := plan{network}
	if systemsPerBMC < 1 || systemsPerBMC > 64 {
		return plan{}, fmt.Errorf("systems per BMC: %d: want 1 to 64", systemsPerBMC)
	}
	if servers := bmcs * systemsPerBMC; servers >= int(p.half()) {
		return plan{}, fmt.Errorf("network %s: room for %d servers, not for %d", network, max(int(p.half())-1, 0), servers)
	}
	return p, nil
}

func (p plan) half() uint32 { return 1 << (32 - p.network.Bits()) / 2 }

func (p plan) bmc(i int) netip.Addr     { return p.at(uint32(i) + 1) }
func (p plan) machine(i int) netip.Addr { return p.at(p.half() + uint32(i) + 1) }

func (p plan) at(n uint32) netip.Addr {
	b := p.network.Addr().As4()
	base := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	base += n
	return netip.AddrFrom4([4]byte{byte(base >> 24), byte(base >> 16), byte(base >> 8), byte(base)})
}

// addrPort is the address of one end of a connection, IPv4 where it is mapped.
func addrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
