package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// etherTypeLLDP is of IEEE 802.1AB §7.3.
const etherTypeLLDP = 0x88cc

const ethernetHeader = 14

// TLV types (IEEE 802.1AB-2016 §8.5).
const (
	tlvEnd = iota
	tlvChassisID
	tlvPortID
	tlvTTL
	tlvPortDescription
	tlvSystemName
	tlvSystemDescription
	tlvCapabilities
	tlvManagementAddress
	tlvOrganization = 127
)

// lldpCapabilities are the names of the bits of §8.5.8, from bit 0.
var lldpCapabilities = []string{"Other", "Repeater", "Bridge", "WLAN", "Router", "Telephone", "DOCSIS", "Station", "C-VLAN", "S-VLAN", "TPMR"}

var errNotLLDP = errors.New("not an LLDP frame")

// parseLLDP reads an Ethernet frame. gone says that the neighbour takes leave (time to live
// 0, §9.2.7.7.1).
func parseLLDP(frame []byte) (n inspection.Neighbor, gone bool, err error) {
	if len(frame) < ethernetHeader || binary.BigEndian.Uint16(frame[12:]) != etherTypeLLDP {
		return n, false, errNotLLDP
	}
	rest := frame[ethernetHeader:]
	for i := 0; ; i++ {
		kind, value, more, err := nextTLV(rest)
		if err != nil {
			return n, false, fmt.Errorf("TLV %d: %w", i, err)
		}
		// §8.2: the three mandatory ones come first, in this order.
		if i < 3 && kind != tlvChassisID+i {
			return n, false, fmt.Errorf("TLV %d is of type %d, not %d", i, kind, tlvChassisID+i)
		}
		switch kind {
		case tlvEnd:
			return n, gone, nil
		case tlvTTL:
			if len(value) < 2 {
				return n, false, errors.New("time to live is cut short")
			}
			gone = binary.BigEndian.Uint16(value) == 0
		default:
			if err := addTLV(&n, kind, value); err != nil {
				return n, false, fmt.Errorf("TLV %d of type %d: %w", i, kind, err)
			}
		}
		// Some senders leave the end out where the frame ends anyway.
		if rest = more; len(rest) == 0 && i >= 2 {
			return n, gone, nil
		}
	}
}

// nextTLV splits off one: seven bits of type, nine of length (§8.4).
func nextTLV(b []byte) (kind int, value, rest []byte, err error) {
	if len(b) < 2 {
		return 0, nil, nil, errors.New("cut short")
	}
	header := binary.BigEndian.Uint16(b)
	kind, length := int(header>>9), int(header&0x1ff)
	if len(b) < 2+length {
		return 0, nil, nil, fmt.Errorf("says %d bytes, has %d", length, len(b)-2)
	}
	return kind, b[2 : 2+length], b[2+length:], nil
}

// Subtypes of IDs that are addresses (tables 8-2 and 8-3); all others are text.
const (
	chassisMAC, chassisNetwork = 4, 5
	portMAC, portNetwork       = 3, 4
)

func addTLV(n *inspection.Neighbor, kind int, value []byte) error {
	switch kind {
	case tlvChassisID, tlvPortID:
		if len(value) < 2 {
			return errors.New("cut short")
		}
		if kind == tlvChassisID {
			n.ChassisID = lldpID(value[0], value[1:], chassisMAC, chassisNetwork)
		} else {
			n.PortID = lldpID(value[0], value[1:], portMAC, portNetwork)
		}
	case tlvPortDescription:
		n.PortDescription = lldpText(value)
	case tlvSystemName:
		n.SystemName = lldpText(value)
	case tlvSystemDescription:
		n.SystemDescription = lldpText(value)
	case tlvCapabilities:
		if len(value) < 4 {
			return errors.New("cut short")
		}
		n.Capabilities = nil
		enabled := binary.BigEndian.Uint16(value[2:])
		for bit, name := range lldpCapabilities {
			if enabled>>bit&1 != 0 {
				n.Capabilities = append(n.Capabilities, name)
			}
		}
	case tlvManagementAddress:
		// Length of subtype and address, then these (§8.5.9). The first one counts.
		if len(value) < 2 || len(value) < 1+int(value[0]) || value[0] < 2 {
			return errors.New("cut short")
		}
		if ip := lldpAddress(value[1], value[2:1+int(value[0])]); ip != "" && n.ManagementIP == "" {
			n.ManagementIP = ip
		}
	case tlvOrganization:
		// IEEE 802.1Q annex D.2.1: port VLAN ID.
		if len(value) >= 6 && value[0] == 0x00 && value[1] == 0x80 && value[2] == 0xc2 && value[3] == 1 {
			n.VLANID = strconv.Itoa(int(binary.BigEndian.Uint16(value[4:])))
		}
	}
	return nil
}

func lldpID(subtype byte, id []byte, mac, network byte) string {
	switch {
	case subtype == mac && len(id) == 6:
		return net.HardwareAddr(id).String()
	case subtype == network:
		if ip := lldpAddress(id[0], id[1:]); ip != "" {
			return ip
		}
	}
	return lldpText(id)
}

// lldpAddress knows the IANA address families 1 and 2; empty: another.
func lldpAddress(family byte, b []byte) string {
	ip, ok := netip.AddrFromSlice(b)
	if !ok || family == 1 && !ip.Is4() || family == 2 && !ip.Is6() || family != 1 && family != 2 {
		return ""
	}
	return ip.String()
}

// lldpText keeps what can be shown.
func lldpText(b []byte) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "")))
}
