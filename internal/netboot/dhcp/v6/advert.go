package v6

import (
	"encoding/binary"
	"net"
	"net/netip"
	"time"
)

// Messages and options of neighbour discovery (RFC 4861 §4).
const (
	routerSolicitation  = 133
	routerAdvertisement = 134
	sourceLinkAddress   = 1
	prefixInformation   = 3
)

const (
	// managed and otherConfiguration have hosts ask DHCP for their address and for the rest; onLink says that hosts of the prefix are neighbours.
	managed, otherConfiguration = 0x80, 0x40
	onLink                      = 0x80
	// prefixTime is how long hosts believe it: many advertisements.
	prefixTime = time.Hour
)

// advertisement tells the hosts of a segment that there is DHCP, and which addresses are neighbours. It offers no route: its lifetime as a router is zero, and hosts make no
// addresses of the prefix themselves.
func advertisement(mac net.HardwareAddr, prefixes []netip.Prefix) []byte {
	head := [16]byte{0: routerAdvertisement, 4: 64, 5: managed | otherConfiguration}
	b := head[:]
	if len(mac) == 6 {
		b = append(append(b, sourceLinkAddress, 1), mac...)
	}
	for _, p := range prefixes {
		o := [32]byte{prefixInformation, 4, byte(p.Bits()), onLink}
		binary.BigEndian.PutUint32(o[4:], uint32(prefixTime/time.Second))
		binary.BigEndian.PutUint32(o[8:], uint32(prefixTime/time.Second))
		addr := p.Masked().Addr().As16()
		copy(o[16:], addr[:])
		b = append(b, o[:]...)
	}
	return b
}

// isSolicitation reports whether a host asks for an advertisement.
func isSolicitation(b []byte) bool { return len(b) >= 8 && b[0] == routerSolicitation && b[1] == 0 }
