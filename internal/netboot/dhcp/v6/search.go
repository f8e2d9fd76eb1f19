package v6

import (
	"bytes"
	"net"
	"net/netip"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// A Search asks a segment which DHCPv6 servers there are, as a client would that takes nothing. Its zero value asks nobody.
type Search struct {
	duid []byte
	from netip.Addr
}

// NewSearch makes that of an interface. linkLocal is our address there, by which servers answer: so they see that host, and the identifier of a client of its own.
func NewSearch(of net.HardwareAddr, linkLocal netip.Addr) Search {
	return Search{append([]byte{0, duidLL, 0, ethernet}, dhcp.SearchMAC(of)...), linkLocal.WithZone("")}
}

// Ends are those of what a client sends to all servers of its segment (RFC 8415 §7.1, §7.2).
func (s Search) Ends() (from, to netip.AddrPort) {
	return netip.AddrPortFrom(s.from, ClientPort), netip.AddrPortFrom(netip.MustParseAddr("ff02::1:2"), ServerPort)
}

// Question is a Solicit for an address (RFC 8415 §18.2.1), without Rapid Commit: nobody is to give one.
func (s Search) Question(id [4]byte) []byte {
	b := append([]byte{solicit}, id[:3]...)
	b = appendOption(b, optClientID, s.duid...)
	b = appendOption(b, optElapsed, 0, 0)
	return appendOption(b, optIANA, append(id[:], make([]byte, 8)...)...)
}

// Server is who offers an address in answer to a question; false: it is no such answer.
func (s Search) Server(answer []byte, from netip.Addr, id [4]byte) (netip.Addr, bool) {
	m, err := readMessage(answer)
	if err != nil || len(m.relays) > 0 || m.kind != advertise || m.xid != [3]byte(id[:3]) || !from.IsValid() {
		return netip.Addr{}, false
	}
	client, _ := m.options.first(optClientID)
	_, named := m.options.first(optServerID)
	if !named || !bytes.Equal(client, s.duid) {
		return netip.Addr{}, false
	}
	offered, err := m.options.associations()
	for _, a := range offered {
		if err == nil && len(a.addrs) > 0 {
			return from.WithZone(""), true
		}
	}
	return netip.Addr{}, false // it says what to boot, and leases nothing
}
