package ratelimit

import (
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Limiter has a bucket for every address that did something lately. A bucket holds a number of actions and fills again at a rate. It is
// safe for concurrent use.
type Limiter struct {
	rate, burst float64
	clock       clock.PassiveClock

	mu      sync.Mutex
	buckets map[netip.Addr]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

const (
	// maxBuckets bounds memory to a few megabytes.
	maxBuckets = 1 << 16
	// hostBits of an IPv6 address are its host's to choose (RFC 4291 §2.5.4), so they do not tell hosts apart.
	hostBits = 64
)

// HostOf is what stands for everything that one host can call itself.
func HostOf(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if prefix, err := a.Prefix(128 - hostBits); err == nil {
			return prefix.Addr()
		}
	}
	return a
}

// New makes a limiter of that many actions a second, burst of them at once.
func New(perSecond, burst int, c clock.PassiveClock) *Limiter {
	return &Limiter{rate: float64(perSecond), burst: float64(burst), clock: c, buckets: make(map[netip.Addr]bucket)}
}

// Allow reports whether an address may do it once more, and counts that.
func (l *Limiter) Allow(a netip.Addr) bool { return l.ask(a, 1) }

// Reserve counts one more and returns how long the address has to wait before it does it; false, and nothing is counted, where that
// would be longer than longest.
func (l *Limiter) Reserve(a netip.Addr, longest time.Duration) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, b := l.bucketOf(a)
	if b.left < 1 {
		wait = time.Duration((1 - b.left) / l.rate * float64(time.Second))
	}
	if ok = wait <= longest; ok {
		b.left--
	}
	l.keep(a, b)
	return wait, ok
}

// Left reports whether an address may do it once more, without counting that.
func (l *Limiter) Left(a netip.Addr) bool { return l.ask(a, 0) }

func (l *Limiter) ask(a netip.Addr, take float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, b := l.bucketOf(a)
	ok := b.left >= 1
	if ok {
		b.left -= take
	}
	if take > 0 {
		l.keep(a, b)
	}
	return ok
}

func (l *Limiter) keep(a netip.Addr, b bucket) {
	if _, known := l.buckets[a]; !known && len(l.buckets) >= maxBuckets {
		l.forget(b.at)
	}
	l.buckets[a] = b
}

// bucketOf is the bucket of an address, as full as it is now, and what stands for the host of that address.
func (l *Limiter) bucketOf(a netip.Addr) (netip.Addr, bucket) {
	a = HostOf(a)
	now := l.clock.Now()
	b, known := l.buckets[a]
	if !known {
		return a, bucket{l.burst, now}
	}
	return a, bucket{l.filled(b, now), now}
}

func (l *Limiter) filled(b bucket, now time.Time) float64 {
	return min(l.burst, b.left+max(0, now.Sub(b.at).Seconds())*l.rate)
}

// forget drops buckets that are full again. Where none is, more addresses act than there are buckets, and all of them
// start anew: it is better to let too many through than to turn away those that never asked.
func (l *Limiter) forget(now time.Time) {
	for a, b := range l.buckets {
		if l.filled(b, now) >= l.burst {
			delete(l.buckets, a)
		}
	}
	if len(l.buckets) >= maxBuckets {
		clear(l.buckets)
	}
}
