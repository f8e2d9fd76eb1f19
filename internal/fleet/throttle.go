package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// Throttle delays commands of an account that has sent many requests without making progress. A Command or a Job names its
// account. Many goroutines call both methods, which must not block.
type Throttle interface {
	// Wait returns how long a command that has not begun has to wait; zero: it may begin.
	Wait(account string) time.Duration
	// Spent adds requests that a command has cost since the last call.
	Spent(account string, requests int)
}

// ErrThrottled is the error of a command whose account has spent its requests without making progress.
var ErrThrottled = errors.New("too many requests without progress: the next request waits")

// throttled reports whether a command has to wait for its account, and schedules the next look at it.
func (a *actor) throttled(c *command, now time.Time) bool {
	if a.options.Throttle == nil || c.Account == "" || c.status.State != Queued {
		return false
	}
	wait := a.options.Throttle.Wait(c.Account)
	if wait <= 0 {
		return false
	}
	c.status.Err = fmt.Errorf("%w: %s", ErrThrottled, wait.Round(time.Second))
	c.cause = c.status.Err
	if !now.Before(c.expires(a.options)) {
		a.end(c, Failed, c.late(bmc.PowerUnknown))
		return true
	}
	c.pollAt = earlier(now.Add(wait), c.expires(a.options))
	a.publish(func(o *Observation) { a.report(o, c.status) })
	return true
}

// charge counts the requests of a command. A test client that makes no requests counts as one request.
func (a *actor) charge(ctx context.Context, c *command) (_ context.Context, done func()) {
	if a.options.Throttle == nil || c.Account == "" {
		return ctx, func() {}
	}
	ctx, requests := bmc.Counting(ctx)
	return ctx, func() { a.options.Throttle.Spent(c.Account, max(1, requests())) }
}
