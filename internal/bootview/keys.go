package bootview

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"net/netip"

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

// compareKeys brings keys into some order, so that equal ones stand together.
func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), bytes.Compare(a.data[:], b.data[:]))
}

type keyKind uint8

const (
	keyUUID keyKind = iota + 1
	keyMAC
	keyIP
	keySerial
	keyToken
	keyBMCToken

	keyKinds // how many there are, with none
)

func (k key) isToken() bool { return k.kind == keyToken || k.kind == keyBMCToken }

func hashed(kind keyKind, s string) key {
	sum := sha256.Sum256([]byte(s))
	return key{kind, [16]byte(sum[:16])}
}

func parseUUID(s string) (key, bool) {
	octets, ok := identity.MachineUUIDOctets(s)
	return key{keyUUID, octets}, ok
}

func parseMAC(s string) (key, bool) {
	octets, ok := identity.MachineMACOctets(s)
	k := key{kind: keyMAC}
	copy(k.data[:], octets[:])
	return k, ok
}

func parseIP(s string) (key, bool) {
	a, ok := identity.MachineIP(s)
	return key{keyIP, a.As16()}, ok
}

// ipKey returns one key for an IPv4 address and its IPv4-mapped form, whatever the zone.
func ipKey(a netip.Addr) (key, bool) {
	return key{keyIP, a.As16()}, a.IsValid() && !a.Unmap().IsUnspecified()
}

func parseSerial(s string) (key, bool) {
	s = identity.MachineSerial(s)
	return hashed(keySerial, s), s != ""
}
