package v6

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"

	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// ethernet is the hardware type of Ethernet.
const ethernet = 1

// Types of DUIDs (RFC 8415 §11, RFC 6355), and the most octets that one has.
const (
	duidLLT  = 1
	duidLL   = 3
	duidUUID = 4
	maxDUID  = 2 + 128
)

// client is who asks: what it says of itself, how the pool knows it, and the UUID in the other order of octets, where that is in doubt.
type client struct {
	dhcp.Client
	key, otherUUID string
}

// clientOf reads what a machine says of itself. from is the address that it sent from.
func clientOf(m message, from netip.Addr) (c client, err error) {
	c.IPv6 = true
	duid, has := m.options.first(optClientID)
	switch {
	case has && (len(duid) < 3 || len(duid) > maxDUID):
		return c, fmt.Errorf("%w: a DUID of %d octets", errMalformed, len(duid))
	case !has && m.kind != information:
		return c, fmt.Errorf("%w: no client identifier", errMalformed)
	}
	c.MAC = identity.MachineMAC(macOf(m, duid, from))
	vendor := c.classify(m)
	c.Arch = dhcp.ArchOf(archsOf(m), vendor)
	if len(duid) == 2+16 && binary.BigEndian.Uint16(duid) == duidUUID {
		c.uuid([16]byte(duid[2:]))
	}
	switch {
	case c.MAC != "":
		c.key = c.MAC
	case has:
		c.key = "duid:" + hex.EncodeToString(duid)
	}
	return c, nil
}

// uuid reads the UUID of a DUID. It is in the order of the network (RFC 6355 §4), and so iPXE sends it; EDK II sends it as it is in its memory, with the first three fields
// little-endian.
func (c *client) uuid(wire [16]byte) {
	network := identity.MachineUUID(hex.EncodeToString(wire[:]))
	memory := identity.MachineUUID(dhcp.UUIDOf(wire))
	c.UUID, c.otherUUID = memory, network
	if c.IPXE {
		c.UUID, c.otherUUID = network, memory
	}
}

// classify reads vendor classes, of any enterprise, and user classes.
func (c *client) classify(m message) (vendor string) {
	for _, o := range m.options {
		switch o.code {
		case optVendorClass:
			for _, text := range strings16(o.data, 4) {
				if c.Vendor == "" {
					c.Vendor = dhcp.Text([]byte(text))
				}
				if class := dhcp.ClassOf(text); class != dhcp.OtherClass && c.Class == dhcp.OtherClass {
					c.Class, vendor = class, text
				}
			}
		case optUserClass:
			if dhcp.IsIPXE(o.data) {
				c.IPXE = true
			}
			for _, text := range strings16(o.data, 0) {
				c.IPXE = c.IPXE || dhcp.IsIPXE([]byte(text))
			}
		}
	}
	return vendor
}

// strings16 are those of a list with the length of each before it in two octets (RFC 8415 §21.15), after some octets of something else. A last one that is cut off is as
// long as it is.
func strings16(b []byte, skip int) (all []string) {
	if len(b) < skip {
		return nil
	}
	for b = b[skip:]; len(b) >= 2; {
		n := min(int(binary.BigEndian.Uint16(b)), len(b)-2)
		all = append(all, string(b[2:2+n]))
		b = b[2+n:]
	}
	return all
}

func archsOf(m message) (listed []uint16) {
	b, _ := m.options.first(optArch)
	for ; len(b) >= 2; b = b[2:] {
		listed = append(listed, binary.BigEndian.Uint16(b))
	}
	return listed
}

// macOf is the MAC address of a client: as its relay says, as its DUID does, or as it has made its address of it.
func macOf(m message, duid []byte, from netip.Addr) string {
	peer := from
	if n := len(m.relays); n > 0 {
		if mac := m.relays[n-1].mac; mac != nil {
			return net.HardwareAddr(mac).String()
		}
		peer = m.relays[n-1].peer
	}
	if len(duid) >= 4 && binary.BigEndian.Uint16(duid[2:]) == ethernet {
		switch kind := binary.BigEndian.Uint16(duid); {
		case kind == duidLL && len(duid) == 4+6:
			return net.HardwareAddr(duid[4:]).String()
		case kind == duidLLT && len(duid) == 8+6:
			return net.HardwareAddr(duid[8:]).String()
		}
	}
	return eui64(peer)
}

// eui64 is the MAC address that a link-local address was made of (RFC 4291, appendix A); empty: it was made of something else.
func eui64(a netip.Addr) string {
	b := a.As16()
	if !a.IsLinkLocalUnicast() || !a.Is6() || b[11] != 0xff || b[12] != 0xfe {
		return ""
	}
	return net.HardwareAddr{b[8] ^ 2, b[9], b[10], b[13], b[14], b[15]}.String()
}
