package fleet

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A fence keeps everybody else off one BMC: commands and jobs that are not of its holder wait
// until it falls, and say so. Polls go on, so that the BMC stays observed; inventories
// wait. Credential rotation and firmware updates hold one.
type fence struct {
	holder string
	until  time.Time
}

var (
	// ErrFenced: somebody holds a fence around the BMC.
	ErrFenced = errors.New("the BMC is fenced")
	// ErrBusy: a command of somebody else is being carried out.
	ErrBusy = errors.New("a command is being carried out at the BMC")
)

// Fence gives the BMC to holder alone, for d at most. The holder may call it again, to
// hold on. ErrFenced: another holds it; ErrBusy: a command of another has begun, and is not
// interrupted. Both pass with a change of the observation.
func (f *Fleet) Fence(key Key, holder string, d time.Duration) error {
	a, ok := f.actor(key)
	if !ok {
		return ErrUnknownBMC
	}
	return a.raise(fence{holder: holder, until: f.options.Clock.Now().Add(d)})
}

// Unfence ends the fence of holder.
func (f *Fleet) Unfence(key Key, holder string) {
	if a, ok := f.actor(key); ok {
		a.lower(holder)
	}
}

func (a *actor) raise(wanted fence) error {
	if wanted.holder == "" {
		return fmt.Errorf("%w: a fence without holder", ErrInvalidCommand)
	}
	now := a.options.Clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fence.excludes(wanted.holder, now) {
		return fmt.Errorf("%w by %s until %s", ErrFenced, a.fence.holder, a.fence.until.Format(time.TimeOnly))
	}
	begun := func(s CommandStatus) bool { return s.State == Running && s.Holder != wanted.holder }
	if i := slices.IndexFunc(a.history, begun); i >= 0 {
		return fmt.Errorf("%w: %s", ErrBusy, a.history[i].ID)
	}
	a.fence = wanted
	o := a.seen.clone()
	o.Fence = wanted.holder
	a.seen = o
	a.rouse() // it sleeps until the fence falls by itself
	return nil
}

func (a *actor) lower(holder string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fence.holder == holder {
		a.fence = fence{}
		a.rouse()
	}
}

// excludes says whether the fence keeps who out.
func (f fence) excludes(who string, now time.Time) bool {
	return f.holder != "" && f.holder != who && now.Before(f.until)
}

// begin marks a command as running, unless a fence keeps it off: then it is told until when.
// Marking and looking are one step, for Fence looks at the mark.
func (a *actor) begin(c *command, now time.Time) (until time.Time, fenced bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fence.excludes(c.Holder, now) {
		c.status.Err = fmt.Errorf("%w by %s", ErrFenced, a.fence.holder)
		return a.fence.until, true
	}
	for i := range a.history {
		if a.history[i].ID == c.ID && c.status.State == Queued {
			a.history[i].State = Running
		}
	}
	return time.Time{}, false
}

// fenced says whether there is a fence, and until when.
func (a *actor) fenced(now time.Time) (until time.Time, fenced bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fence.until, a.fence.excludes("", now)
}

// keptOff says whether a fence keeps a command off.
func (a *actor) keptOff(c *command, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fence.excludes(c.Holder, now)
}

// passFence notices that a fence has fallen: what it held goes on, and nobody is told
// of it any more.
func (a *actor) passFence(now time.Time) {
	a.mu.Lock()
	up := a.fence.excludes("", now)
	if !up {
		a.fence = fence{}
	}
	shown := a.seen.Fence
	a.mu.Unlock()
	if up || shown == "" {
		return
	}
	for _, c := range a.commands {
		if errors.Is(c.status.Err, ErrFenced) {
			c.pollAt, c.status.Err = now, nil
		}
	}
	a.publish(func(o *Observation) { o.Fence = "" })
}
