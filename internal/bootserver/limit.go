package bootserver

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// limiter has a bucket for every address that asked lately. A bucket holds burst requests and fills at rate.
type limiter struct {
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
	// burstSeconds is how many seconds' worth of requests may come at once: a boot asks for everything in a row.
	burstSeconds = 10
	// maxBuckets bounds memory to a few megabytes.
	maxBuckets = 1 << 16
	// hostBits of an IPv6 address are its host's to choose (RFC 4291 §2.5.4), so they do not tell hosts apart.
	hostBits = 64
)

// newLimiter returns nil for no limit.
func newLimiter(perSecond int, c clock.PassiveClock) *limiter {
	if perSecond == 0 {
		return nil
	}
	return &limiter{
		rate: float64(perSecond), burst: float64(perSecond * burstSeconds), clock: c, buckets: make(map[netip.Addr]bucket),
	}
}

// allow takes one request of a.
func (l *limiter) allow(a netip.Addr) bool {
	if a.Is6() {
		prefix, err := a.Prefix(128 - hostBits)
		if err == nil {
			a = prefix.Addr()
		}
	}
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.buckets[a]
	if !known {
		if len(l.buckets) >= maxBuckets {
			l.forget(now)
		}
		b = bucket{l.burst, now}
	}
	b.left = l.filled(b, now)
	b.at = now
	ok := b.left >= 1
	if ok {
		b.left--
	}
	l.buckets[a] = b
	return ok
}

func (l *limiter) filled(b bucket, now time.Time) float64 {
	return min(l.burst, b.left+max(0, now.Sub(b.at).Seconds())*l.rate)
}

// forget drops buckets that are full again. Where none is, more addresses ask than there are buckets, and all of them
// start anew: it is better to let too many through than to turn away machines that never asked.
func (l *limiter) forget(now time.Time) {
	for a, b := range l.buckets {
		if l.filled(b, now) >= l.burst {
			delete(l.buckets, a)
		}
	}
	if len(l.buckets) >= maxBuckets {
		clear(l.buckets)
	}
}

// limited answers whoever asks too often, and reports whether it did. Forwarders that were named ask for many; one that is believed only
// because it is near may be anybody.
func (s *Server) limited(w http.ResponseWriter, r *http.Request) bool {
	if s.limiter == nil {
		return false
	}
	from := caller(r)
	if s.trusted(from) || s.limiter.allow(from) {
		return false
	}
	w.Header()["Retry-After"] = retryAfter[0]
	refuse(w, r, http.StatusTooManyRequests, textTooMany)
	return true
}
