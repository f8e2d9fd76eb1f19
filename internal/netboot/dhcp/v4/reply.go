package v4

import (
	"encoding/binary"
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

// fileLength is that of the field "file", with the octet that ends it (RFC 2131 §2).
const fileLength = 128

var (
	// noDiscovery has firmware boot the file that it is told, without looking for further servers (PXE 2.1 §2.2.3, PXE_DISCOVERY_CONTROL bit 3).
	noDiscovery = []byte{6, 1, 8}
	// noProxy has iPXE not wait for a proxyDHCP server (iPXE, option 175.176).
	noProxy = []byte{176, 1, 1}
)

// reply is an answer to p without what it says.
func (h *Handler) reply(p *dhcpv4.DHCPv4, kind dhcpv4.MessageType) *dhcpv4.DHCPv4 {
	r := &dhcpv4.DHCPv4{
		OpCode: dhcpv4.OpcodeBootReply, HWType: p.HWType, TransactionID: p.TransactionID, Flags: p.Flags,
		ClientIPAddr: net.IPv4zero, YourIPAddr: net.IPv4zero, ServerIPAddr: net.IPv4zero, GatewayIPAddr: p.GatewayIPAddr, ClientHWAddr: p.ClientHWAddr,
		Options: dhcpv4.Options{optMessageType: {byte(kind)}, optServerID: h.cfg.Server.AsSlice()},
	}
	// Echoed: RFC 3046 §2.2, RFC 6842 §3, PXE 2.1 §2.2.3.
	for _, code := range []uint8{optAgent, optClientID, optMachineID} {
		if value, has := p.Options[code]; has {
			r.Options[code] = value
		}
	}
	return r
}

// boot adds what to boot.
func (h *Handler) boot(r *dhcpv4.DHCPv4, q Request, a dhcp.Answer) {
	if a.Kind == dhcp.Nothing || a.Kind == dhcp.Wait {
		return
	}
	r.Options[optClass] = []byte(q.Client.Class.String())
	r.Options[optBootFile] = []byte(a.Boot)
	if len(a.Boot) < fileLength {
		r.BootFileName = a.Boot
	}
	r.ServerIPAddr = h.cfg.Server.AsSlice()
	if q.Client.Class == dhcp.PXEClass {
		r.Options[optVendor] = noDiscovery
	}
	if a.Kind == dhcp.Program {
		r.ServerIPAddr = h.cfg.TFTP.AsSlice()
		r.Options[optTFTPServer] = []byte(h.cfg.TFTP.String())
	}
	if q.Client.IPXE && h.cfg.Pool != nil {
		r.Options[optIPXE] = noProxy
	}
}

// network adds what a host needs to know of its subnet.
func (h *Handler) network(r *dhcpv4.DHCPv4, subnet netip.Prefix) {
	r.Options[optHostMask] = net.CIDRMask(subnet.Bits(), 32)
	r.Options[optBroadcast] = lease.Broadcast(subnet).AsSlice()
	if routers := octets(h.cfg.Routers, subnet.Contains); len(routers) > 0 {
		r.Options[optRouter] = routers
	}
	if servers := octets(h.cfg.DNS, netip.Addr.Is4); len(servers) > 0 {
		r.Options[optDNS] = servers
	}
	if h.cfg.Domain != "" {
		r.Options[optDomain] = []byte(h.cfg.Domain)
	}
}

func octets(addrs []netip.Addr, want func(netip.Addr) bool) (all []byte) {
	for _, a := range addrs {
		if want(a) {
			all = append(all, a.AsSlice()...)
		}
	}
	return all
}

// times adds when a lease ends, and when to ask for more of it (RFC 2131 §4.4.5).
func (h *Handler) times(r *dhcpv4.DHCPv4) {
	t := h.cfg.Pool.Time()
	r.Options[optLeaseTime] = seconds(t)
	r.Options[optT1] = seconds(t / 2)
	r.Options[optT2] = seconds(t * 7 / 8)
}

func seconds(d time.Duration) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(min(d/time.Second, 1<<32-2)))
}

// Way is how a reply gets to its client.
type Way uint8

const (
	// Unicast goes to an address that its host has.
	Unicast Way = iota
	// Layer2 goes to an address that its host does not have yet, so that the kernel cannot ask who has it.
	Layer2
	// Broadcast goes to all hosts of the segment.
	Broadcast
)

// Destination is where a reply goes to.
type Destination struct {
	Way  Way
	Addr netip.AddrPort
	MAC  net.HardwareAddr // of Layer2
}

var everybody = netip.AddrPortFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), ClientPort)

// destination follows RFC 2131 §4.1; on port 4011 the reply goes back to where the request came from.
func (h *Handler) destination(q Request, reply *dhcpv4.DHCPv4) Destination {
	relay, current, yours := addr(q.Packet.GatewayIPAddr), addr(q.Packet.ClientIPAddr), addr(reply.YourIPAddr)
	switch {
	case relay.IsValid():
		return Destination{Way: Unicast, Addr: netip.AddrPortFrom(relay, ServerPort)}
	case q.Port == ProxyPort && q.From.Addr().IsValid() && !q.From.Addr().IsUnspecified():
		return Destination{Way: Unicast, Addr: q.From}
	case reply.MessageType() == dhcpv4.MessageTypeNak:
		return Destination{Way: Broadcast, Addr: everybody}
	case current.IsValid():
		return Destination{Way: Unicast, Addr: netip.AddrPortFrom(current, ClientPort)}
	case q.Packet.IsBroadcast() || !yours.IsValid():
		return Destination{Way: Broadcast, Addr: everybody}
	}
	return Destination{Way: Layer2, Addr: netip.AddrPortFrom(yours, ClientPort), MAC: q.Packet.ClientHWAddr}
}
