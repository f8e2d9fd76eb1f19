package dhcp

import (
	"crypto/sha256"
	"net/netip"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
)

// Limits of requests a second, and at once. Firmware asks a few times in each step of a boot; a rack that is switched on is some hundred requests. Known
// machines have no limit in common: strangers cannot use up what is theirs.
const (
	perMachine, perMachineAtOnce     = 5, 20
	allStrangers, allStrangersAtOnce = 500, 1000
)

// Limiter bounds what packets cost. It is safe for concurrent use.
type Limiter struct{ machine, strangers *ratelimit.Limiter }

// NewLimiter makes one.
func NewLimiter(c clock.PassiveClock) *Limiter {
	return &Limiter{machine: ratelimit.New(perMachine, perMachineAtOnce, c), strangers: ratelimit.New(allStrangers, allStrangersAtOnce, c)}
}

// Client reports whether a client, by its MAC address or what else it is known by, may ask once more, and counts it. It is asked before anybody looks up who that is.
func (l *Limiter) Client(key string) bool { return l.machine.Allow(bucketOf(key)) }

// Standing reports whether one more request of a machine of that standing is to be answered, and counts it.
func (l *Limiter) Standing(s Standing) bool {
	return s == Known || l.strangers.Allow(netip.IPv6Unspecified())
}

// bucketOf is a client as the limiter counts: by the first half of an IPv6 address, which is made of its MAC address, or of what else it is known by.
func bucketOf(key string) netip.Addr {
	b := [16]byte{0: 0xfd}
	octets, ok := identity.MACOctets(key)
	if !ok {
		sum := sha256.Sum256([]byte(key))
		b[1] = 1
		copy(octets[:], sum[:])
	}
	copy(b[2:], octets[:])
	return netip.AddrFrom16(b)
}
