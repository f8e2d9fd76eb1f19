package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// advance takes the commands that are due as far as they can go now.
func (a *actor) advance(ctx context.Context) error {
	defer func() { a.commands = a.live() }()
	for _, c := range a.commands {
		if c.status.State.Ended() || a.options.Clock.Now().Before(c.pollAt) {
			continue
		}
		if err := a.advanceOne(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// advanceOne takes one command further, unless a lock excludes it.
func (a *actor) advanceOne(ctx context.Context, c *command) error {
	now := a.options.Clock.Now()
	if a.throttled(c, now) {
		return nil
	}
	if until, locked := a.begin(c, now); locked {
		c.cause = c.status.Err
		if !now.Before(c.expires(a.options)) {
			a.end(c, Failed, c.late(bmc.PowerUnknown))
			return nil
		}
		c.pollAt = earlier(until, c.expires(a.options))
		a.publish(func(o *Observation) { a.report(o, c.status) })
		return nil
	}
	ctx, done := a.charge(ctx, c)
	defer done()
	if c.status.State == Queued {
		for _, other := range a.commands {
			if other.status.State == Running {
				a.supersede(c, other)
			}
		}
	}
	switch c.Kind {
	case work:
		return a.runJob(ctx, c)
	case ResetManager:
		return a.resetManager(ctx, c)
	}
	return a.advanceSystem(ctx, c)
}

// advanceSystem looks at the system and does what follows.
func (a *actor) advanceSystem(ctx context.Context, c *command) error {
	s, err := a.client.System(ctx, c.System)
	if e, ok := errors.AsType[*bmc.Error](err); ok && e.StatusCode == http.StatusNotFound {
		a.end(c, Failed, fmt.Errorf("%w: %w", ErrUnknownSystem, err))
		return nil
	}
	if err != nil {
		return err
	}
	now := a.options.Clock.Now()
	c.started(now, a.options)
	c.cause, c.status.Err = c.refusal, c.refusal
	failure := a.perform(ctx, c, s)
	if len(a.watched) == 1 {
		a.schedule.polledNow(now) // this was the poll
	}
	if c.Kind == Reset && c.status.State == Succeeded && c.target() == "" {
		a.schedule.moves(now) // nothing waits for what follows, and it is seen all the same
	}
	a.publish(func(o *Observation) {
		a.answered(o, now)
		a.enter(o, reading{uri: c.System, system: s}, now)
		a.report(o, c.status)
	})
	return failure
}

// started notes that a command has left the queue.
func (c *command) started(now time.Time, o *Options) {
	if c.status.State != Queued {
		return
	}
	c.status.State, c.status.Start, c.deadline = Running, now, now.Add(c.Budget)
	c.pollAfter = o.FastPoll
}

// set makes the one request of a command that is not about power.
func (a *actor) set(ctx context.Context, c *command, s bmc.System) (more bool, _ error) {
	services, err := a.services()
	if err == nil {
		switch c.Kind {
		case SetIndicator:
			if !s.Shows(c.Indicator) {
				err = services.SetIndicator(ctx, s, c.Indicator)
			}
		case SetBootOrder:
			err = services.SetBootOrder(ctx, s, c.BootOrder)
		}
	}
	if err != nil {
		return a.refused(c, actSet, err)
	}
	c.finish(Succeeded, nil, a.options.Clock.Now())
	return false, nil
}

// resetManager restarts the BMC. That the connection breaks before the answer is what a restart
// looks like; it is not repeated, and what becomes of the BMC the next poll tells.
func (a *actor) resetManager(ctx context.Context, c *command) error {
	c.started(a.options.Clock.Now(), a.options)
	services, err := a.services()
	if err == nil {
		c.status.Sent, err = services.ResetManager(ctx, c.Reset)
	}
	now := a.options.Clock.Now()
	switch {
	case ctx.Err() != nil, bmc.KindOf(err) == bmc.KindAuthentication:
		a.end(c, Failed, err)
		return err
	case notNow(err) && now.Before(c.deadline):
		c.cause, c.status.Err = err, err
		a.pollLater(c, now, retryAfter(err))
		a.publish(func(o *Observation) { a.report(o, c.status) })
		return nil
	case err != nil:
		a.schedule.pollAt = now
		a.end(c, Failed, err)
		return nil
	}
	a.schedule.refresh(now.Add(a.options.FastPoll))
	a.end(c, Succeeded, nil)
	return nil
}

// notNow says that the BMC has not done what it was asked for, and may later. Other errors of a
// server leave that open, and a reset is not repeated on suspicion.
func notNow(err error) bool {
	e, ok := errors.AsType[*bmc.Error](err)
	return ok && (e.StatusCode == http.StatusServiceUnavailable || e.StatusCode == http.StatusTooManyRequests)
}

func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*bmc.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
