package bootview

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"

	"github.com/farrier-dev/farrier/internal/identity"
)

// Keys of View.slots. Each kind of identifier has a type of its own, so that
// all of them live in one map and none is mistaken for another. IP addresses
// are keyed by netip.Addr itself.
type (
	uuidKey   [16]byte
	macKey    [6]byte
	serialKey string
	// tokenKey is the digest of a token: how long a lookup takes says
	// nothing about how much of a guess was right.
	tokenKey [sha256.Size]byte
)

// placeholderUUIDs are what firmware reports that nobody has given a UUID:
// thousands of machines have them, so they identify none (SMBIOS 3.7 §7.2.1
// reserves all zeros and all ones; the third is a reference BIOS's).
var placeholderUUIDs = map[uuidKey]bool{
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
func parseUUID(s string) (uuidKey, bool) {
	key, ok := parseHyphenated(s)
	if !ok {
		canonical, err := identity.UUID(s)
		if err != nil {
			return uuidKey{}, false
		}
		key, _ = parseHyphenated(canonical)
	}
	return key, !placeholderUUIDs[key]
}

// parseHyphenated parses the form of RFC 9562 §4.
func parseHyphenated(s string) (key uuidKey, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return uuidKey{}, false
	}
	at := 0
	for octet := range key {
		if s[at] == '-' {
			at++
		}
		high, low := hexValue(s[at]), hexValue(s[at+1])
		if high > 0xf || low > 0xf {
			return uuidKey{}, false
		}
		key[octet] = high<<4 | low
		at += 2
	}
	return key, true
}

func (k uuidKey) String() string {
	h := hex.EncodeToString(k[:])
	return h[0:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:32]
}

// parseMAC takes what identity.MAC takes, without allocating: DHCP servers name
// machines by MAC on the hottest path there is.
func parseMAC(s string) (macKey, bool) {
	var key macKey
	digits := 0
	for i := range len(s) {
		switch s[i] {
		case ':', '-', '.', ' ', '\t':
			continue
		}
		v := hexValue(s[i])
		if v > 0xf || digits == 2*len(key) {
			return macKey{}, false
		}
		key[digits/2] = key[digits/2]<<4 | v
		digits++
	}
	// The all-zero address is what an interface without one reports.
	return key, digits == 2*len(key) && key != macKey{}
}

// parseIP returns the address without zone and never IPv4-mapped, as
// identity.IP spells it.
func parseIP(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil {
		return netip.Addr{}, false
	}
	a = canonicalAddr(a)
	return a, !a.IsUnspecified()
}

func canonicalAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func parseSerial(s string) (serialKey, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	return serialKey(s), !placeholderSerials[s]
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
