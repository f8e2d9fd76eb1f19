package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// Job is work at a BMC that no command is for: accounts, BIOS settings, updates, subscriptions,
// logs. It goes through the queue of commands, one at a time, and its end is told like a
// command's: by Fleet.Command and Observation.Job.
type Job struct {
	// ID makes a job one of a kind, among commands too.
	ID string
	// Budget is how long Run may take; a minute where zero. What takes the BMC
	// longer, a task, is looked at again by further jobs.
	Budget time.Duration
	// Holder is the holder of the exclusive lock that the job runs under, if any.
	Holder string
	// Account is what the requests of the job are counted for, where they make no progress: see Options.Throttle.
	Account string
	// Run does the work. It is called once, by the BMC's own goroutine, and must heed its
	// context. What it finds out it keeps where its owner finds it.
	Run func(ctx context.Context, s Services) error
}

const defaultJobBudget = time.Minute

// Do queues a job. Like Submit it never blocks, and does nothing for an ID that was seen before.
func (f *Fleet) Do(key Key, j Job) error {
	switch {
	case j.ID == "":
		return fmt.Errorf("%w: no ID", ErrInvalidCommand)
	case j.Run == nil:
		return fmt.Errorf("%w %q: nothing to run", ErrInvalidCommand, j.ID)
	}
	if j.Budget <= 0 {
		j.Budget = defaultJobBudget
	}
	a, ok := f.actor(key)
	if !ok {
		return ErrUnknownBMC
	}
	return a.submit(order{Command: Command{ID: j.ID, Kind: work, Budget: j.Budget, Holder: j.Holder, Account: j.Account}, run: j.Run})
}

// runJob runs a job and ends it. An error of the BMC as a whole is for the next poll to confirm:
// a job that ran out of its own time says little about the BMC.
func (a *actor) runJob(ctx context.Context, c *command) error {
	c.started(a.options.Clock.Now(), a.options)
	services, err := a.services()
	if err == nil {
		err = c.call(ctx, services)
	}
	state := Succeeded
	if err != nil {
		state = Failed
	}
	a.end(c, state, err)
	switch {
	case ctx.Err() != nil:
		return err
	case bmc.KindOf(err) == bmc.KindAuthentication && !errors.Is(err, bmc.ErrNotVerified):
		return err // no other request is to find that out once more
	case bmc.Unreachable(err):
		a.schedule.pollAt = a.options.Clock.Now()
	}
	return nil
}

// call gives the job its budget of the fleet's time, which is not always the machine's.
func (c *command) call(ctx context.Context, s Services) error {
	ctx, cancel := context.WithTimeout(ctx, c.Budget)
	defer cancel()
	return c.run(ctx, s)
}
