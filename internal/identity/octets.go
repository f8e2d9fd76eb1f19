package identity

import "strings"

const urnPrefix = "urn:uuid:"

// UUIDOctets returns the 16 octets of a UUID, in any spelling that UUID takes, without allocating, also for what is no UUID.
func UUIDOctets(s string) (octets [16]byte, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) >= len(urnPrefix) && strings.EqualFold(s[:len(urnPrefix)], urnPrefix) {
		s = s[len(urnPrefix):]
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "{"), "}")
	digits := 0
	for i := range len(s) {
		if s[i] == '-' {
			continue
		}
		v := hexValue(s[i])
		if v > 0xf || digits == 2*len(octets) {
			return [16]byte{}, false
		}
		octets[digits/2] = octets[digits/2]<<4 | v
		digits++
	}
	return octets, digits == 2*len(octets)
}

// MACOctets returns the 6 octets of a MAC address, in any spelling that MAC takes, without allocating: DHCP servers name
// machines by MAC on the hottest path there is.
func MACOctets(s string) (octets [6]byte, ok bool) {
	digits := 0
	for i := range len(s) {
		switch s[i] {
		case ':', '-', '.', ' ', '\t':
			continue
		}
		v := hexValue(s[i])
		if v > 0xf || digits == 2*len(octets) {
			return [6]byte{}, false
		}
		octets[digits/2] = octets[digits/2]<<4 | v
		digits++
	}
	return octets, digits == 2*len(octets)
}

// hexValue returns more than 0xf for what is no hexadecimal digit.
func hexValue(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
