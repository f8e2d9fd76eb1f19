package identity

// UUIDOctets returns the 16 octets of a UUID, in any spelling that UUID takes. It does not allocate for one with hyphens, in either
// case.
func UUIDOctets(s string) (octets [16]byte, ok bool) {
	if octets, ok = hyphenated(s); ok {
		return octets, true
	}
	canonical, err := UUID(s)
	if err != nil {
		return octets, false
	}
	return hyphenated(canonical)
}

// hyphenated parses the form of RFC 9562 §4.
func hyphenated(s string) (octets [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return octets, false
	}
	at := 0
	for i := range octets {
		if s[at] == '-' {
			at++
		}
		high, low := hexValue(s[at]), hexValue(s[at+1])
		if high > 0xf || low > 0xf {
			return octets, false
		}
		octets[i] = high<<4 | low
		at += 2
	}
	return octets, true
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
