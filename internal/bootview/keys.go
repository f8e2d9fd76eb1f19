package bootview

import (
	"crypto/sha256"
	"net/netip"
	"strings"

	"github.com/farrier-dev/farrier/internal/identity"
)

// key is an identifier in the index. It holds no pointer, so that the garbage
// collector passes over the hundreds of thousands of them.
type key struct {
	kind keyKind
	// data is the UUID, the MAC, the IP in its 16 octet form, or the start of
	// the SHA-256 of a serial number or token. How long it takes to look a
	// token up therefore says nothing about how much of a guess was right.
	data [16]byte
}

type keyKind uint8

const (
	keyUUID keyKind = iota + 1
	keyMAC
	keyIP
	keySerial
	keyToken
	keyBMCToken
)

func (k key) isToken() bool { return k.kind == keyToken || k.kind == keyBMCToken }

func hashed(kind keyKind, s string) key {
	sum := sha256.Sum256([]byte(s))
	return key{kind, [16]byte(sum[:16])}
}

// placeholderUUIDs are what firmware reports that nobody has given a UUID:
// thousands of machines have them, so they identify none (SMBIOS 3.7 §7.2.1
// reserves all zeros and all ones; the third is a reference BIOS's).
var placeholderUUIDs = map[[16]byte]bool{
	{}: true,
	{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}: true,
	{0x03, 0x00, 0x02, 0x00, 0x04, 0x00, 0x05, 0x00, 0x00, 0x06, 0x00, 0x07, 0x00, 0x08, 0x00, 0x09}: true,
}

// placeholderSerials are serial numbers that nobody has filled in, lower case.
var placeholderSerials = map[string]bool{
	"":                       true,
	"0":                      true,
	"0123456789":             true,
	"123456789":              true,
	"default string":         true,
	"n/a":                    true,
	"none":                   true,
	"not applicable":         true,
	"not available":          true,
	"not specified":          true,
	"system serial number":   true,
	"to be filled by o.e.m.": true,
	"unknown":                true,
}

// parseUUID takes any spelling that identity.UUID takes. It does not allocate
// for one with hyphens, in either case.
func parseUUID(s string) (key, bool) {
	octets, ok := parseHyphenated(s)
	if !ok {
		canonical, err := identity.UUID(s)
		if err != nil {
			return key{}, false
		}
		octets, _ = parseHyphenated(canonical)
	}
	return key{keyUUID, octets}, !placeholderUUIDs[octets]
}

// IsMachineUUID says whether a UUID, in any spelling, identifies a machine: it is none of those that firmware reports
// which nobody has given one.
func IsMachineUUID(s string) bool {
	_, ok := parseUUID(s)
	return ok
}

// IsMachineAddress reports whether a MAC or IP address, in any spelling, can be one of a machine.
func IsMachineAddress(s string) bool {
	if _, ok := parseIP(s); ok {
		return true
	}
	_, ok := parseMAC(s)
	return ok
}

// parseHyphenated parses the form of RFC 9562 §4.
func parseHyphenated(s string) (octets [16]byte, ok bool) {
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

// parseMAC takes what identity.MAC takes, without allocating: DHCP servers name
// machines by MAC on the hottest path there is.
func parseMAC(s string) (key, bool) {
	const octets = 6
	k := key{kind: keyMAC}
	digits := 0
	for i := range len(s) {
		switch s[i] {
		case ':', '-', '.', ' ', '\t':
			continue
		}
		v := hexValue(s[i])
		if v > 0xf || digits == 2*octets {
			return key{}, false
		}
		k.data[digits/2] = k.data[digits/2]<<4 | v
		digits++
	}
	// The all-zero address is what an interface without one reports.
	return k, digits == 2*octets && k.data != [16]byte{}
}

// parseIP takes what identity.IP takes.
func parseIP(s string) (key, bool) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil {
		return key{}, false
	}
	return ipKey(a)
}

// ipKey makes one key of an IPv4 address and its IPv4-mapped form, whatever the zone.
func ipKey(a netip.Addr) (key, bool) {
	return key{keyIP, a.As16()}, a.IsValid() && !a.Unmap().IsUnspecified()
}

func parseSerial(s string) (key, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	return hashed(keySerial, s), !placeholderSerials[s]
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
