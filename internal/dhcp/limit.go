package dhcp

import (
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
	if !l.machine.Allow(bucketOf(c.MAC)) {
		return false
	}
	return s == Known || l.strangers.Allow(netip.IPv6Unspecified())
}

// bucketOf is a MAC address as the limiter counts: by the first half of an IPv6 address.
func bucketOf(mac string) netip.Addr {
	octets, _ := identity.MACOctets(mac)
	b := [16]byte{0: 0xfd}
	copy(b[2:], octets[:])
	return netip.AddrFrom16(b)
}
