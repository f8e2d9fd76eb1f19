package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// action is what a command does next.
type action int

const (
	actWait action = iota
	actSucceed
	actFail
	actPowerOn
	actShutDown
	actForceOff
	actReset
	actSet // the one request of a command that is not about power
)

// target is the power state that ends the command, "" where none does.
func (c *command) target() bmc.PowerState {
	switch c.Kind {
	case PowerOn:
		return bmc.PowerOn
	case PowerOff:
		return bmc.PowerOff
	}
	if c.Kind != Reset {
		return ""
	}
	switch c.Reset {
	case bmc.ResetOn, bmc.ResetForceOn:
		return bmc.PowerOn
	case bmc.ResetForceOff, bmc.ResetGracefulShutdown:
		return bmc.PowerOff
	}
	return ""
}

// settling is an order that a superseded command gave and that has not shown
// yet: for some time the state it leads to may still come.
type settling struct {
	to    bmc.PowerState
	until time.Time
}

// inherit takes over what old left in motion. An ordered On shows within seconds or
// not at all; a shutdown may take as long as old would have waited.
func (c *command) inherit(old *command, o *Options) {
	c.settling = old.settling
	if old.stage == stageBegin {
		return
	}
	c.settling = settling{to: old.target(), until: old.deadline}
	if old.target() != bmc.PowerOff || old.stage == stageForced {
		c.settling.until = earlier(old.deadline, old.sentAt.Add(settleTime(o)))
	}
}

// settleTime is how long a BMC may go on showing the old power state after it
// took an order.
func settleTime(o *Options) time.Duration { return 6 * o.FastPoll }

// decide says what to do at this power state and time. It is pure.
func (c *command) decide(power bmc.PowerState, now time.Time, settle time.Duration) action {
	target := c.target()
	late := !now.Before(c.deadline)
	switch {
	case !c.Kind.power() && late:
		return actFail
	case !c.Kind.power():
		return actSet
	case power == target && c.stage == stageBegin && c.settling.to != target && now.Before(c.settling.until) && !late:
		return actWait // not trusted: an earlier order may yet show
	case power == target:
		return actSucceed
	case power == bmc.PowerUnknown && c.Kind != Reset:
		return c.orFail(late) // Unknown allows no action
	case c.Kind == PowerOn:
		return c.decideOn(power, now, settle, late)
	case c.Kind == PowerOff:
		return c.decideOff(power, now, settle, late)
	case c.stage == stageBegin:
		return actReset
	case target == "":
		return actSucceed
	}
	return c.orFail(late)
}

func (c *command) decideOn(power bmc.PowerState, now time.Time, settle time.Duration, late bool) action {
	if late || isMoving(power) || c.stage != stageBegin && !c.again(now, settle) {
		return c.orFail(late)
	}
	return actPowerOn
}

// isMoving reports whether a power state is one that passes.
func isMoving(power bmc.PowerState) bool {
	return power == bmc.PowerPoweringOn || power == bmc.PowerPoweringOff
}

func (c *command) decideOff(power bmc.PowerState, now time.Time, settle time.Duration, late bool) action {
	switch {
	case c.stage == stageForced:
		if !late && c.again(now, settle) {
			return actForceOff
		}
		return c.orFail(late)
	case late && c.Force && (c.forceBy.IsZero() || now.Before(c.forceBy)):
		return actForceOff
	case late || power == bmc.PowerPoweringOff || c.stage == stageAsked && !c.again(now, settle):
		return c.orFail(late)
	}
	return actShutDown
}

func (c *command) orFail(late bool) action {
	if late {
		return actFail
	}
	return actWait
}

// again says that the last order has probably not arrived.
func (c *command) again(now time.Time, settle time.Duration) bool {
	return c.doubtful && !now.Before(c.sentAt.Add(settle))
}

// late explains why a command ends without its state.
func (c *command) late(power bmc.PowerState) error {
	if c.status.State == Queued {
		return withCause(fmt.Errorf("%w: waited %s", ErrNotBegun, c.Budget), c.cause)
	}
	if !c.Kind.power() {
		return withCause(fmt.Errorf("%w: tried for %s", ErrNotTaken, c.Budget), c.cause)
	}
	return withCause(fmt.Errorf("%w: want %s, is %s", ErrNotObserved, c.target(), power), c.cause)
}

func withCause(err, cause error) error {
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// perform decides and acts until there is something to wait for. An error means
// that the BMC stopped answering.
func (a *actor) perform(ctx context.Context, c *command, s bmc.System) error {
	for {
		now := a.options.Clock.Now()
		switch do := c.decide(s.PowerState, now, settleTime(a.options)); do {
		case actWait:
			a.pollLater(c, now, 0)
			return nil
		case actSucceed:
			c.finish(Succeeded, nil, now)
			return nil
		case actFail:
			c.finish(Failed, c.late(s.PowerState), now)
			return nil
		default:
			if more, err := a.act(ctx, c, s, do); !more {
				return err
			}
		}
	}
}

// act carries out one action. more: there may be another to do now.
func (a *actor) act(ctx context.Context, c *command, s bmc.System, do action) (more bool, err error) {
	if do == actSet {
		return a.set(ctx, c, s)
	}
	if do == actPowerOn && c.stage == stageBegin {
		if err := a.client.SetBoot(ctx, s, c.Boot); err != nil {
			return a.refused(c, do, fmt.Errorf("set boot override: %w", err))
		}
	}
	if do == actForceOff && c.forceBy.IsZero() {
		c.forceBy = a.options.Clock.Now().Add(a.options.ForceBudget)
	}
	reset := c.resetFor(do)
	c.status.Sent, _ = s.NearestReset(reset)
	err = a.client.Reset(ctx, s, reset)
	now := a.options.Clock.Now()
	c.doubtful = doubtful(err)
	if err == nil || c.doubtful {
		c.sent(do, now, a.options)
	}
	if err != nil {
		return a.refused(c, do, err)
	}
	c.taken()
	if c.target() == "" {
		c.finish(Succeeded, nil, now)
		return false, nil
	}
	return true, nil
}

// resetFor is the reset type that carries an action out.
func (c *command) resetFor(do action) bmc.ResetType {
	switch do {
	case actPowerOn:
		return bmc.ResetOn
	case actShutDown:
		return bmc.ResetGracefulShutdown
	case actForceOff:
		return bmc.ResetForceOff
	}
	return c.Reset
}

// sent notes that the BMC was asked; what follows is watched closely.
func (c *command) sent(do action, now time.Time, o *Options) {
	c.sentAt, c.pollAfter = now, o.FastPoll
	if do != actForceOff {
		c.stage = stageAsked
		return
	}
	if c.stage != stageForced {
		c.deadline = now.Add(o.ForceBudget)
	}
	c.stage, c.status.Forced = stageForced, true
}

// taken notes that the BMC took an order. That one before did not come true is not over with that: it may be this one's fate too.
func (c *command) taken() {
	c.cause, c.refusal, c.status.Err = nil, nil, nil
	if !errors.Is(c.status.Trouble, ErrNotObserved) {
		c.status.well()
	}
}

// doubtful says that an order may have arrived although no answer came. It is
// not idempotent, so whether to repeat it is for the next look at the system to say.
func doubtful(err error) bool {
	k := bmc.KindOf(err)
	return k == bmc.KindTimeout || k == bmc.KindConnection
}

// refused says what an error means for the command.
func (a *actor) refused(c *command, do action, err error) (more bool, _ error) {
	now := a.options.Clock.Now()
	e, _ := errors.AsType[*bmc.Error](err)
	c.cause, c.status.Err, c.refusal = err, err, err
	switch {
	case e == nil, bmc.Unreachable(err):
		return false, err
	case e.Kind == bmc.KindServer, e.StatusCode == http.StatusConflict:
		// Busy, in POST, or about to be: the same again later, while there is time.
		c.status.troubled(err, now)
		a.pollLater(c, now, e.RetryAfter)
		return false, nil
	case do == actShutDown && c.Force:
		c.deadline = now // nothing there to shut down gracefully
		return true, nil
	}
	c.finish(Failed, err, now)
	return false, nil
}

func (c *command) finish(state CommandState, err error, now time.Time) {
	c.status.State, c.status.Err, c.status.End = state, err, now
	switch {
	case state == Succeeded:
		c.status.well()
	case state == Failed && c.refusal != nil:
		c.status.troubled(c.refusal, now)
	case state == Failed && c.status.Start.IsZero():
		c.status.troubled(err, now)
	case state == Failed:
		c.status.troubled(err, c.status.Start)
	}
}

// pollLater has the system looked at again: soon at first, then less and less
// often, and in any case when the budget is spent.
func (a *actor) pollLater(c *command, now time.Time, atLeast time.Duration) {
	c.pollAt = now.Add(max(a.schedule.less(c.pollAfter, 0.1), atLeast))
	if c.deadline.After(now) {
		c.pollAt = earlier(c.pollAt, c.deadline)
	}
	c.pollAfter = min(c.pollAfter*13/10, a.options.PollInterval)
}
