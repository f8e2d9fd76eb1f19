package v4

import (
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// A Search asks a segment which DHCP servers there are, as a client would that takes nothing. Its zero value asks nobody.
type Search struct{ mac net.HardwareAddr }

// NewSearch makes that of an interface.
func NewSearch(of net.HardwareAddr) Search { return Search{dhcp.SearchMAC(of)} }

// Ends are those of what a client without an address sends and gets (RFC 2131 §4.1).
func (Search) Ends() (from, to netip.AddrPort) {
	return netip.AddrPortFrom(netip.IPv4Unspecified(), ClientPort), netip.AddrPortFrom(everybody.Addr(), ServerPort)
}

// Question is a DHCPDISCOVER whose answers go to all hosts: nobody has the address that it comes from.
func (s Search) Question(id [4]byte) []byte {
	p := &dhcpv4.DHCPv4{
		OpCode: dhcpv4.OpcodeBootRequest, HWType: ethernet, TransactionID: id,
		ClientIPAddr: net.IPv4zero, YourIPAddr: net.IPv4zero, ServerIPAddr: net.IPv4zero, GatewayIPAddr: net.IPv4zero, ClientHWAddr: s.mac,
		Options: dhcpv4.Options{optMessageType: {byte(dhcpv4.MessageTypeDiscover)}, optParameters: {optHostMask, optRouter, optLeaseTime}},
	}
	p.SetBroadcast()
	return p.ToBytes()
}

// Server is who offers an address in answer to a question; false: it is no such answer.
func (s Search) Server(answer []byte, from netip.Addr, id [4]byte) (netip.Addr, bool) {
	p, err := dhcpv4.FromBytes(answer)
	if err != nil || p.OpCode != dhcpv4.OpcodeBootReply || p.TransactionID != id || p.ClientHWAddr.String() != s.mac.String() || p.MessageType() != dhcpv4.MessageTypeOffer {
		return netip.Addr{}, false
	}
	if !addr(p.YourIPAddr).IsValid() {
		return netip.Addr{}, false // it says what to boot, and leases nothing
	}
	if a, named := serverID(p); named {
		return a, true
	}
	return from, isHost(from)
}
