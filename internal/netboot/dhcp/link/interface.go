package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// ErrUnsupported is returned where this operating system has no way to do something.
var ErrUnsupported = errors.New("not supported on this operating system")

// Interface is a network interface as it was when it was looked at.
type Interface struct {
	Name  string
	Index int
	MAC   net.HardwareAddr
	// Subnets have the address of this host in each, the first of each family first.
	Subnets []netip.Prefix
}

// Find looks at an interface. It must be up and have an address.
func Find(name string) (Interface, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return Interface{}, fmt.Errorf("interface %q: %w", name, err)
	}
	if i.Flags&net.FlagUp == 0 {
		return Interface{}, fmt.Errorf("interface %q is down", name)
	}
	addrs, err := i.Addrs()
	if err != nil {
		return Interface{}, fmt.Errorf("interface %q: %w", name, err)
	}
	found := Interface{Name: name, Index: i.Index, MAC: i.HardwareAddr}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			found.Subnets = append(found.Subnets, p)
		}
	}
	if len(found.Subnets) == 0 {
		return Interface{}, fmt.Errorf("interface %q has no address", name)
	}
	return found, nil
}

// IPv4 is the first IPv4 address of this host on the interface.
func (i Interface) IPv4() (netip.Addr, bool) {
	return i.first(func(a netip.Addr) bool { return a.Is4() })
}

// IPv6 is the first IPv6 address that hosts of other segments can reach too.
func (i Interface) IPv6() (netip.Addr, bool) {
	return i.first(func(a netip.Addr) bool { return a.Is6() && !a.IsLinkLocalUnicast() })
}

// LinkLocal is the IPv6 address that hosts of the segment alone can reach.
func (i Interface) LinkLocal() (netip.Addr, bool) {
	return i.first(func(a netip.Addr) bool { return a.Is6() && a.IsLinkLocalUnicast() })
}

func (i Interface) first(want func(netip.Addr) bool) (netip.Addr, bool) {
	for _, p := range i.Subnets {
		if want(p.Addr()) {
			return p.Addr(), true
		}
	}
	return netip.Addr{}, false
}

const (
	ipHeader, ipv6Header, udpHeader = 20, 40, 8
	protocolUDP                     = 17
	hops                            = 64
)

// datagram is a UDP packet with its IP header (RFC 791 §3.1, RFC 8200 §3, RFC 768).
func datagram(from, to netip.AddrPort, payload []byte) []byte {
	if from.Addr().Is6() {
		return datagram6(from, to, payload)
	}
	b := make([]byte, ipHeader+udpHeader, ipHeader+udpHeader+len(payload))
	b[0] = 4<<4 | ipHeader/4
	binary.BigEndian.PutUint16(b[2:], uint16(cap(b)))
	b[8], b[9] = hops, protocolUDP
	src, dst := from.Addr().As4(), to.Addr().As4()
	copy(b[12:], src[:])
	copy(b[16:], dst[:])
	binary.BigEndian.PutUint16(b[10:], checksum(0, b[:ipHeader]))
	udp := b[ipHeader:]
	binary.BigEndian.PutUint16(udp[0:], from.Port())
	binary.BigEndian.PutUint16(udp[2:], to.Port())
	length := uint16(udpHeader + len(payload))
	binary.BigEndian.PutUint16(udp[4:], length)
	b = append(b, payload...)
	check(b[ipHeader:], src[:], dst[:])
	return b
}

func datagram6(from, to netip.AddrPort, payload []byte) []byte {
	b := make([]byte, ipv6Header+udpHeader, ipv6Header+udpHeader+len(payload))
	length := uint16(udpHeader + len(payload))
	b[0] = 6 << 4
	binary.BigEndian.PutUint16(b[4:], length)
	b[6], b[7] = protocolUDP, hops
	src, dst := from.Addr().As16(), to.Addr().As16()
	copy(b[8:], src[:])
	copy(b[24:], dst[:])
	udp := b[ipv6Header:]
	binary.BigEndian.PutUint16(udp[0:], from.Port())
	binary.BigEndian.PutUint16(udp[2:], to.Port())
	binary.BigEndian.PutUint16(udp[4:], length)
	b = append(b, payload...)
	check(b[ipv6Header:], src[:], dst[:])
	return b
}

// check puts the checksum into a UDP packet, over its pseudo header too (RFC 768; RFC 8200 §8.1).
func check(udp, src, dst []byte) {
	pseudo := sum(sum(uint32(protocolUDP)+uint32(len(udp)), src), dst)
	c := checksum(pseudo, udp)
	if c == 0 {
		c = 0xffff // zero says that there is none
	}
	binary.BigEndian.PutUint16(udp[6:], c)
}

// received is who sent a datagram, to which port, and what; false: it is none, or a fragment. Its checksum is not looked at: between interfaces of one host there may be
// none yet.
func received(b []byte) (from netip.AddrPort, to uint16, payload []byte, ok bool) {
	if len(b) >= ipv6Header && b[0]>>4 == 6 {
		return received6(b)
	}
	if len(b) < ipHeader || b[0]>>4 != 4 || b[9] != protocolUDP || binary.BigEndian.Uint16(b[6:])&0x3fff != 0 {
		return from, 0, nil, false
	}
	header, length := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if header < ipHeader || length < header+udpHeader || len(b) < length {
		return from, 0, nil, false
	}
	return opened(netip.AddrFrom4([4]byte(b[12:16])), b[header:length])
}

// received6 takes no extension headers: no server puts any before an answer on its segment.
func received6(b []byte) (from netip.AddrPort, to uint16, payload []byte, ok bool) {
	length := ipv6Header + int(binary.BigEndian.Uint16(b[4:]))
	if b[6] != protocolUDP || length < ipv6Header+udpHeader || len(b) < length {
		return from, 0, nil, false
	}
	return opened(netip.AddrFrom16([16]byte(b[8:24])), b[ipv6Header:length])
}

// opened takes a UDP packet apart.
func opened(sender netip.Addr, udp []byte) (from netip.AddrPort, to uint16, payload []byte, ok bool) {
	n := int(binary.BigEndian.Uint16(udp[4:]))
	if n < udpHeader || n > len(udp) {
		return from, 0, nil, false
	}
	udp = udp[:n]
	return netip.AddrPortFrom(sender, binary.BigEndian.Uint16(udp)), binary.BigEndian.Uint16(udp[2:]), udp[udpHeader:], true
}

func sum(s uint32, b []byte) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

// checksum is that of RFC 1071.
func checksum(s uint32, b []byte) uint16 {
	for s = sum(s, b); s > 0xffff; {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
}

const (
	arpLength = 28
	arpAsk    = 1
)

// arpProbe asks who has an address, without saying that we do (RFC 5227 §2.1.1).
func arpProbe(mac net.HardwareAddr, a netip.Addr) []byte {
	b := make([]byte, arpLength)
	binary.BigEndian.PutUint16(b[0:], 1)      // Ethernet
	binary.BigEndian.PutUint16(b[2:], 0x0800) // IPv4
	b[4], b[5] = 6, 4
	binary.BigEndian.PutUint16(b[6:], arpAsk)
	copy(b[8:14], mac)
	target := a.As4()
	copy(b[24:28], target[:])
	return b
}

// arpSender is who sent an ARP packet, and by which address.
func arpSender(b []byte) (net.HardwareAddr, netip.Addr, bool) {
	if len(b) < arpLength || binary.BigEndian.Uint16(b[2:]) != 0x0800 || b[4] != 6 || b[5] != 4 {
		return nil, netip.Addr{}, false
	}
	return net.HardwareAddr(b[8:14]), netip.AddrFrom4([4]byte(b[14:18])), true
}

const echoReply, echoRequest = 0, 8

// echo is an ICMP echo request (RFC 792), told from others by its identifier.
func echo(id uint16) []byte {
	b := make([]byte, 8)
	b[0] = echoRequest
	binary.BigEndian.PutUint16(b[4:], id)
	binary.BigEndian.PutUint16(b[2:], checksum(0, b))
	return b
}

// echoed reports whether b answers echo(id).
func echoed(b []byte, id uint16) bool {
	return len(b) >= 8 && b[0] == echoReply && binary.BigEndian.Uint16(b[4:]) == id
}
