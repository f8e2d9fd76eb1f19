package identity

import (
	"fmt"
	"net/netip"
	"strings"
)

// ErrInvalid is wrapped by every error of this package.
var ErrInvalid = fmt.Errorf("not a valid identifier")

const (
	hexDigits   = "0123456789abcdef"
	upperDigits = "0123456789ABCDEF"
)

// UUID returns s in the form of RFC 9562 §4: lower case, hyphens after 4, 2, 2
// and 2 octets. Upper case, missing hyphens, braces, a "urn:uuid:" prefix and
// surrounding white space are accepted. A string that is canonical already
// is returned without allocation.
func UUID(s string) (string, error) {
	if isCanonicalUUID(s) {
		return s, nil
	}
	t := strings.ToLower(strings.TrimSpace(s))
	t = strings.TrimPrefix(t, "urn:uuid:")
	t = strings.TrimSuffix(strings.TrimPrefix(t, "{"), "}")
	octets := strings.ReplaceAll(t, "-", "")
	if len(octets) != 32 || !allHex(octets) {
		return "", fmt.Errorf("UUID %q: %w: want 32 hexadecimal digits", s, ErrInvalid)
	}
	return octets[0:8] + "-" + octets[8:12] + "-" + octets[12:16] + "-" + octets[16:20] + "-" + octets[20:32], nil
}

func isCanonicalUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
			continue
		}
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// MAC returns a 48-bit MAC address (IEEE 802) in lower case with colons. Colons,
// hyphens, dots and spaces are accepted as separators anywhere, and none at all. A string that is canonical already
// is returned without allocation.
func MAC(s string) (string, error) {
	octets, ok := MACOctets(s)
	if !ok {
		return "", fmt.Errorf("MAC address %q: %w: want 12 hexadecimal digits", s, ErrInvalid)
	}
	text := [17]byte([]byte("00:00:00:00:00:00"))
	for i, octet := range octets {
		text[3*i], text[3*i+1] = hexDigits[octet>>4], hexDigits[octet&0xf]
	}
	return orCopy(s, text[:]), nil
}

// orCopy is the text, without a copy of it where s is the same.
func orCopy(s string, text []byte) string {
	if s == string(text) {
		return s
	}
	return string(text)
}

// MACDigits strips every separator of a MAC address, or of a prefix of one, and
// returns what is left in lower case. It does not check that digits are left.
func MACDigits(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ':', '-', '.', ' ', '\t':
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// IP returns an IP address in canonical text form (RFC 5952), with an IPv4-mapped
// IPv6 address as IPv4 and without a zone: a zone means something only on
// the host that wrote it. A string that is canonical already is returned without allocation.
func IP(s string) (string, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil {
		return "", fmt.Errorf("IP address %q: %w", s, ErrInvalid)
	}
	var room [len("0000:0000:0000:0000:0000:0000:0000:0000")]byte
	return orCopy(s, a.Unmap().WithZone("").AppendTo(room[:0])), nil
}

func allHex(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// isDigit reports whether c is a hexadecimal digit in lower case.
func isDigit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }
