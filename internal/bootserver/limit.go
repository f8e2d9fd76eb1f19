package bootserver

import (
	"net/http"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
)

// burstSeconds is how many seconds' worth of requests may come at once: a boot asks for everything in a row.
const burstSeconds = 10

// newLimiter returns nil for no limit.
func newLimiter(perSecond int, c clock.PassiveClock) *ratelimit.Limiter {
	if perSecond == 0 {
		return nil
	}
	return ratelimit.New(perSecond, perSecond*burstSeconds, c)
}

// limited answers whoever asks too often, and reports whether it did. Forwarders that were named ask for many; one that is believed only
// because it is near may be anybody.
func (s *Server) limited(w http.ResponseWriter, r *http.Request) bool {
	if s.limiter == nil {
		return false
	}
	from := caller(r)
	if s.trusted(from) || s.limiter.Allow(from) {
		return false
	}
	w.Header()["Retry-After"] = retryAfter[0]
	refuse(w, r, http.StatusTooManyRequests, textTooMany)
	return true
}
