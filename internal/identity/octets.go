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
		v := hexValues[s[i]]
		if v == noDigit || digits == 2*len(octets) {
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
		v := hexValues[s[i]]
		if v == noDigit || digits == 2*len(octets) {
			return [6]byte{}, false
		}
		octets[digits/2] = octets[digits/2]<<4 | v
		digits++
	}
	return octets, digits == 2*len(octets)
}

// noDigit is the value of what is no hexadecimal digit.
const noDigit = 0xff

// hexValues are the values of hexadecimal digits.
var hexValues = func() (of [256]byte) {
	for i := range of {
		of[i] = noDigit
	}
	for value := range byte(16) {
		of[hexDigits[value]] = value
		of[upperDigits[value]] = value
	}
	return of
}()
