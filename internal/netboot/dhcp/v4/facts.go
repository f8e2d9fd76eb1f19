package v4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// The options that decide, by number: RFC 2132, 3004, 4578, and iPXE's own.
const (
	optHostMask      = 1
	optRouter        = 3
	optDNS           = 6
	optHostName      = 12
	optDomain        = 15
	optBroadcast     = 28
	optVendor        = 43
	optRequestedIP   = 50
	optLeaseTime     = 51
	optMessageType   = 53
	optServerID      = 54
	optParameters    = 55
	optMessage       = 56
	optT1            = 58
	optT2            = 59
	optClass         = 60
	optClientID      = 61
	optTFTPServer    = 66
	optBootFile      = 67
	optUserClass     = 77
	optAgent         = 82
	optArch          = 93
	optMachineID     = 97
	optIPXE          = 175
	subLinkSelection = 5 // of option 82, RFC 3527
)

// errMalformed is wrapped by what is wrong with a packet.
var errMalformed = errors.New("malformed packet")

// ethernet is the hardware type of Ethernet, also that of bridges, bonds and Wi-Fi (RFC 1700, "Hardware Type").
const ethernet = 1

// clientOf reads what a machine says of itself.
func clientOf(p *dhcpv4.DHCPv4) (c dhcp.Client, err error) {
	if p.OpCode != dhcpv4.OpcodeBootRequest || p.HWType != ethernet || len(p.ClientHWAddr) != 6 {
		return c, fmt.Errorf("%w: no request from an Ethernet address", errMalformed)
	}
	if c.MAC = identity.MachineMAC(p.ClientHWAddr.String()); c.MAC == "" || p.ClientHWAddr[0]&1 != 0 {
		return c, fmt.Errorf("%w: the hardware address %s is no host's", errMalformed, p.ClientHWAddr)
	}
	if relay := addr(p.GatewayIPAddr); relay.IsValid() && !isHost(relay) {
		return c, fmt.Errorf("%w: %s is no address of a relay", errMalformed, relay)
	}
	id, has := p.Options[optMachineID]
	if c.UUID, err = uuidOf(id, has); err != nil {
		return c, err
	}
	vendor := string(p.Options[optClass])
	c.Vendor, c.Host = dhcp.Text(p.Options[optClass]), dhcp.Text(p.Options[optHostName])
	c.Class = dhcp.ClassOf(vendor)
	c.Arch = dhcp.ArchOf(archsOf(p.Options[optArch]), vendor)
	_, encapsulated := p.Options[optIPXE]
	c.IPXE = encapsulated || dhcp.IsIPXE(p.Options[optUserClass])
	return c, nil
}

// isHost reports whether a single host can have an address, so that an answer to it goes to no more than one.
func isHost(a netip.Addr) bool {
	return a.IsGlobalUnicast() && a != everybody.Addr()
}

// uuidOf reads option 97 (RFC 4578 §2.3): a type, which is 0, and 16 octets. Absent is fine; firmware that has no UUID sends zeros.
func uuidOf(option []byte, has bool) (string, error) {
	const withType = 17
	switch {
	case !has:
		return "", nil
	case len(option) != withType:
		return "", fmt.Errorf("%w: option 97 of %d octets", errMalformed, len(option))
	case option[0] != 0:
		return "", nil // of a type that there is not; what it means is unknown
	}
	return identity.MachineUUID(dhcp.UUIDOf([16]byte(option[1:]))), nil
}

// archsOf reads option 93 (RFC 4578 §2.1). An odd octet at the end says nothing.
func archsOf(option []byte) (listed []uint16) {
	for ; len(option) >= 2; option = option[2:] {
		listed = append(listed, binary.BigEndian.Uint16(option))
	}
	return listed
}
