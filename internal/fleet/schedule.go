package fleet

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// startSpread is how much later, at most, each further BMC is asked for the first time, so
// that ten thousand do not log in within one instant.
const startSpread = time.Millisecond

// soonSpacing times the fast poll is the shortest distance between polls that events ask for.
const soonSpacing = 2

// due is when something is to be read again; failing at it has a back-off of
// its own, because the BMC itself is well.
type due struct {
	at       time.Time
	failures int
}

// schedule is when an actor may and should ask its BMC.
type schedule struct {
	options *Options
	rand    *rand.Rand

	notBefore time.Time // back-off: no request before
	quiet     bool      // because of refused credentials
	asked     bool      // because the BMC said so (Retry-After)
	failures  int

	pollAt   time.Time
	list     due
	manager  due
	polled   bool // at least once
	polledAt time.Time
	// follow is how long after this poll comes the next while a system changes its power; 0: none does.
	follow time.Duration
}

func newSchedule(o *Options, r *rand.Rand, index int) schedule {
	now := o.Clock.Now()
	s := schedule{options: o, rand: r, pollAt: now, list: due{at: now}, manager: due{at: now}}
	s.notBefore = now.Add(time.Duration(r.Int64N(int64(startSpread)*int64(index+1) + 1)))
	return s
}

// next is when something is due, back-off left aside.
func (s *schedule) next() time.Time {
	return earlier(s.pollAt, earlier(s.list.at, s.manager.at))
}

// less takes up to the given share off d: what is due within d stays within it.
func (s *schedule) less(d time.Duration, share float64) time.Duration {
	return d - time.Duration(s.rand.Float64()*share*float64(d))
}

// polledNow sets the time of the next poll. The first interval is cut at random, so that
// BMCs that were met together are not polled together for ever.
func (s *schedule) polledNow(now time.Time) {
	share := 0.05
	if !s.polled {
		s.polled, share = true, 0.5
	}
	s.pollAt = now.Add(s.less(s.options.PollInterval, share))
	s.polledAt = now
}

// pollSoon moves the next poll forward: to now, or to the shortest distance from the last poll. So a BMC that sends
// events without end is polled no more often than that.
func (s *schedule) pollSoon(now time.Time) {
	at := s.polledAt.Add(min(soonSpacing*s.options.FastPoll, s.options.PollInterval))
	if at.Before(now) {
		at = now
	}
	s.pollAt = earlier(s.pollAt, at)
}

// moves has a system that changes its power looked at again: soon at first, then less and less often, for some BMCs say for ever that they do.
func (s *schedule) moves(now time.Time) {
	s.follow = min(max(s.follow*13/10, s.options.FastPoll), s.options.PollInterval)
	s.pollAt = earlier(s.pollAt, now.Add(s.less(s.follow, 0.1)))
}

// rests ends that.
func (s *schedule) rests() { s.follow = 0 }

// circuit is what the schedule means to who looks on.
func (s *schedule) circuit() Circuit {
	switch {
	case s.failures == 0:
		return CircuitClosed
	case s.quiet:
		return CircuitRefused
	case s.asked:
		return CircuitAsked
	}
	return CircuitOpen
}

// done sets d for the next time, tryAgain for the next try.
func (s *schedule) done(d *due, now time.Time, interval time.Duration) {
	*d = due{at: now.Add(s.less(interval, 0.2))}
}

func (s *schedule) tryAgain(d *due, now time.Time, interval time.Duration) {
	d.failures++
	d.at = now.Add(s.backoff(d.failures, interval))
}

// backoff doubles from FastPoll to limit, a quarter up or down.
func (s *schedule) backoff(failures int, limit time.Duration) time.Duration {
	d := s.options.FastPoll
	for i := 1; i < failures && d < limit; i++ {
		d *= 2
	}
	d = time.Duration(float64(d) * (0.75 + 0.5*s.rand.Float64()))
	return min(d, limit)
}

// failed sets how long the BMC is left alone. While a command waits that is no
// longer than a poll interval.
func (s *schedule) failed(err error, now time.Time, commands bool) {
	s.failures++
	limit := s.options.MaxBackoff
	if commands {
		limit = min(limit, s.options.PollInterval)
	}
	pause := s.backoff(s.failures, limit)
	s.quiet = bmc.KindOf(err) == bmc.KindAuthentication
	s.asked = false
	if e, ok := errors.AsType[*bmc.Error](err); ok && e.RetryAfter > pause {
		// A BMC that asks for a day is asked whether it meant it.
		pause, s.asked = min(e.RetryAfter, max(s.options.MaxBackoff, pause)), true
	}
	if s.quiet {
		pause = s.options.AuthBackoff
	}
	s.notBefore = now.Add(pause)
}

func (s *schedule) succeeded() {
	s.failures, s.quiet, s.asked = 0, false, false
}

// hurry lets a new command cut a long back-off short; not one that protects an
// account or that the BMC asked for.
func (s *schedule) hurry(now time.Time) {
	if !s.quiet && !s.asked {
		s.notBefore = earlier(s.notBefore, now.Add(s.options.FastPoll))
	}
}

// reset forgets all failures: the credentials are new.
func (s *schedule) reset(now time.Time) {
	s.succeeded()
	s.notBefore, s.pollAt = now, now
}

func (s *schedule) refresh(now time.Time) {
	s.list.at, s.manager.at = now, now
}
