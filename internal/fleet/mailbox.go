package fleet

import (
	"fmt"
	"slices"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// The methods of this file may be called by anybody; they never wait for the
// BMC.

func (a *actor) observation() *Observation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen
}

func (a *actor) setCredentials(c bmc.Credentials) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spec.Credentials == c {
		return
	}
	a.spec = &Spec{Endpoint: a.spec.Endpoint, Credentials: c}
	a.renewed = true
	a.rouse()
}

func (a *actor) askRefresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh = true
	a.rouse()
}

func (a *actor) submit(c Command) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.history, func(s CommandStatus) bool { return s.ID == c.ID }) {
		return nil
	}
	o := a.seen.clone()
	system, ok := o.System(c.System)
	if !ok {
		return fmt.Errorf("command %q for %s: %w", c.ID, c.System, ErrUnknownSystem)
	}
	if !a.remember(CommandStatus{ID: c.ID, Kind: c.Kind, State: Queued}) {
		return fmt.Errorf("command %q for %s: %w", c.ID, c.System, ErrQueueFull)
	}
	system.Command = a.history[len(a.history)-1]
	a.seen = o
	a.inbox = append(a.inbox, c)
	a.rouse()
	return nil
}

// remember appends to the history, in which the oldest ended commands make room.
func (a *actor) remember(s CommandStatus) bool {
	ended := func(s CommandStatus) bool { return s.State.Ended() }
	waiting := 0
	for _, h := range a.history {
		if !ended(h) {
			waiting++
		}
	}
	if waiting >= maxQueue {
		return false
	}
	if len(a.history) >= maxHistory {
		i := slices.IndexFunc(a.history, ended)
		a.history = slices.Delete(a.history, i, i+1)
	}
	a.history = append(a.history, s)
	return true
}

func (a *actor) command(id string) (CommandStatus, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.history, func(s CommandStatus) bool { return s.ID == id })
	if i < 0 {
		return CommandStatus{}, false
	}
	return a.history[i], true
}

// rouse wakes the actor; it looks at the whole mailbox, so one token is enough.
func (a *actor) rouse() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}
