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

// Allow reports whether a request of a client is to be answered, and counts it.
func (l *Limiter) Allow(c Client, s Standing) bool {
	if !l.machine.Allow(bucketOf(c)) {
		return false
	}
	return s == Known || l.strangers.Allow(netip.IPv6Unspecified())
}

// bucketOf is a machine as the limiter counts: by the first half of an IPv6 address, which is made of its MAC address, or of what else is known of it.
func bucketOf(c Client) netip.Addr {
	b := [16]byte{0: 0xfd}
	octets, ok := identity.MACOctets(c.MAC)
	if !ok {
		sum := sha256.Sum256([]byte(c.UUID))
		b[1] = 1
		copy(octets[:], sum[:])
	}
	copy(b[2:], octets[:])
	return netip.AddrFrom16(b)
}
