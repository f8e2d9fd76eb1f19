package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// Brake says how long orders have to wait that somebody gives again and again and that come to nothing. It is asked on behalf of
// whatever a Command or a Job names as its account; both methods are called by many goroutines, and must not block.
type Brake interface {
	// Wait is how long an order has to wait that has not begun; zero: it need not.
	Wait(account string) time.Duration
	// Spent is told how many requests an order has cost since it was told last.
	Spent(account string, requests int)
}

// ErrBraked is what a command waits with whose account has spent its requests and come no further.
var ErrBraked = errors.New("too many requests that came to nothing: the next has to wait")

// braked reports whether a command has to wait for its account, and has it looked at again when that is over.
func (a *actor) braked(c *command, now time.Time) bool {
	if a.options.Brake == nil || c.Account == "" || c.status.State != Queued {
		return false
	}
	wait := a.options.Brake.Wait(c.Account)
	if wait <= 0 {
		return false
	}
	c.status.Err = fmt.Errorf("%w: %s", ErrBraked, wait.Round(time.Second))
	c.cause = c.status.Err
	if !now.Before(c.expires(a.options)) {
		a.end(c, Failed, c.late(bmc.PowerUnknown))
		return true
	}
	c.pollAt = earlier(now.Add(wait), c.expires(a.options))
	a.publish(func(o *Observation) { a.report(o, c.status) })
	return true
}

// charge counts what is asked of the BMC for a command. A client of a test that makes no requests is counted as if it made one.
func (a *actor) charge(ctx context.Context, c *command) (_ context.Context, done func()) {
	if a.options.Brake == nil || c.Account == "" {
		return ctx, func() {}
	}
	ctx, requests := bmc.Counting(ctx)
	return ctx, func() { a.options.Brake.Spent(c.Account, max(1, requests())) }
}
