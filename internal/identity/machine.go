package identity

import (
	"net/netip"
	"strings"
)

// MachineUUID returns the canonical form of a system UUID that identifies a machine. It is empty for a placeholder and for what is no
// UUID.
func MachineUUID(s string) string {
	canonical, err := UUID(s)
	if err != nil || placeholderUUID(canonical) {
		return ""
	}
	return canonical
}

// MachineUUIDOctets returns the octets of a system UUID and reports whether it identifies a machine, as MachineUUID does.
func MachineUUIDOctets(s string) ([16]byte, bool) {
	octets, ok := UUIDOctets(s)
	return octets, ok && !placeholderUUIDs[octets]
}

// MachineMAC returns the canonical form of a MAC address that identifies a network interface. It is empty for a placeholder and for what
// is no MAC address.
func MachineMAC(s string) string {
	canonical, err := MAC(s)
	if err != nil {
		return ""
	}
	if _, ok := MachineMACOctets(canonical); !ok {
		return ""
	}
	return canonical
}

// MachineMACOctets returns the octets of a MAC address and reports whether it identifies a network interface, as MachineMAC does.
func MachineMACOctets(s string) ([6]byte, bool) {
	octets, ok := MACOctets(s)
	return octets, ok && !placeholderMAC(octets)
}

// MachineSerial returns the form in which a serial number is compared: without white space around it, in lower case. It is empty for a
// placeholder.
func MachineSerial(s string) string {
	if s = strings.ToLower(strings.TrimSpace(s)); Placeholder(s) {
		return ""
	}
	return s
}

// MachineIP returns the address of a host, without a zone and with an IPv4-mapped IPv6 address as IPv4, and reports whether s is one.
func MachineIP(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil || a.Unmap().IsUnspecified() {
		return netip.Addr{}, false
	}
	return a.Unmap().WithZone(""), true
}

// IsMachineAddress reports whether a MAC or IP address, in any spelling, can be one of a machine.
func IsMachineAddress(s string) bool {
	if _, ok := MachineIP(s); ok {
		return true
	}
	_, ok := MachineMACOctets(s)
	return ok
}
