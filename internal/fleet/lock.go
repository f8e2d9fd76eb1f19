package fleet

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// exclusiveLock gives one BMC to one holder. Commands and jobs of others wait until it ends, and their status says so.
// Polls go on, so that the BMC stays observed; inventories wait. Credential rotation and firmware updates take the lock.
type exclusiveLock struct {
	holder string
	until  time.Time
}

var (
	// ErrLocked means that another holder has the exclusive lock on the BMC.
	ErrLocked = errors.New("the BMC is locked")
	// ErrBusy means that the BMC runs a command of somebody else.
	ErrBusy = errors.New("the BMC runs another command")
)

// Lock gives the BMC to holder alone, for d at most. The holder extends the lock by calling Lock again.
// It fails with ErrLocked while another holder has the lock, and with ErrBusy while a command of another runs.
// The observation changes when either ends.
func (f *Fleet) Lock(key Key, holder string, d time.Duration) error {
	a, ok := f.actor(key)
	if !ok {
		return ErrUnknownBMC
	}
	return a.lock(exclusiveLock{holder: holder, until: f.options.Clock.Now().Add(d)})
}

// Unlock ends the lock of holder, if it has it.
func (f *Fleet) Unlock(key Key, holder string) {
	if a, ok := f.actor(key); ok {
		a.unlock(holder)
	}
}

func (a *actor) lock(wanted exclusiveLock) error {
	if wanted.holder == "" {
		return fmt.Errorf("%w: a lock without holder", ErrInvalidCommand)
	}
	now := a.options.Clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.exclusive.excludes(wanted.holder, now) {
		return fmt.Errorf("%w by %s until %s", ErrLocked, a.exclusive.holder, a.exclusive.until.Format(time.TimeOnly))
	}
	begun := func(s CommandStatus) bool { return s.State == Running && s.Holder != wanted.holder }
	if i := slices.IndexFunc(a.history, begun); i >= 0 {
		return fmt.Errorf("%w: %s", ErrBusy, a.history[i].ID)
	}
	a.exclusive = wanted
	o := a.seen.clone()
	o.LockedBy = wanted.holder
	a.seen = o
	a.wake() // it has to wake when the lock expires
	return nil
}

func (a *actor) unlock(holder string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.exclusive.holder == holder {
		a.exclusive = exclusiveLock{}
		a.wake()
	}
}

// excludes reports whether who has to wait for the lock.
func (f exclusiveLock) excludes(who string, now time.Time) bool {
	return f.holder != "" && f.holder != who && now.Before(f.until)
}

// begin marks a command as running, unless a lock excludes it: then begin returns when the lock ends.
// It checks and marks under one mutex, because Lock reads the mark.
func (a *actor) begin(c *command, now time.Time) (until time.Time, locked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.exclusive.excludes(c.Holder, now) {
		c.status.Err = fmt.Errorf("%w by %s", ErrLocked, a.exclusive.holder)
		return a.exclusive.until, true
	}
	for i := range a.history {
		if a.history[i].ID == c.ID && c.status.State == Queued {
			a.history[i].State = Running
		}
	}
	return time.Time{}, false
}

// lockedUntil reports whether the BMC is locked, and until when.
func (a *actor) lockedUntil(now time.Time) (until time.Time, locked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.exclusive.until, a.exclusive.excludes("", now)
}

// excluded reports whether a lock excludes a command.
func (a *actor) excluded(c *command, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.exclusive.excludes(c.Holder, now)
}

// expireLock resumes the commands that waited for a lock that has ended, and takes the lock out of the observation.
func (a *actor) expireLock(now time.Time) {
	a.mu.Lock()
	up := a.exclusive.excludes("", now)
	if !up {
		a.exclusive = exclusiveLock{}
	}
	shown := a.seen.LockedBy
	a.mu.Unlock()
	if up || shown == "" {
		return
	}
	for _, c := range a.commands {
		if errors.Is(c.status.Err, ErrLocked) {
			c.pollAt, c.status.Err = now, nil
		}
	}
	a.publish(func(o *Observation) { o.LockedBy = "" })
}
