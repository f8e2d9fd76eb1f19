package fleet

import (
	"fmt"
	"slices"
)

// The methods of this file may be called by anybody; they never wait for the
// BMC.

func (a *actor) observation() *Observation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen
}

func (a *actor) setSpec(s Spec) {
	a.mu.Lock()
	defer a.mu.Unlock()
	renewed, chosen := a.spec.Credentials != s.Credentials || a.spec.Certificate != s.Certificate, a.spec.ManagerUUID != s.ManagerUUID
	if !renewed && !chosen {
		return
	}
	s.Endpoint = a.spec.Endpoint
	a.spec = &s
	a.renewed, a.chosen = a.renewed || renewed, a.chosen || chosen
	a.wake()
}

func (a *actor) askRefresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh = true
	a.wake()
}

// pollSoon asks for an early poll.
func (a *actor) pollSoon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.soon = true
	a.wake()
}

// mail says that somebody waits for the actor's attention.
func (a *actor) mail() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.inbox) > 0 || a.renewed
}

func (a *actor) submit(r order) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.history, func(s CommandStatus) bool { return s.ID == r.ID }) {
		return nil
	}
	o := a.seen.clone()
	system, known := o.System(r.System)
	if r.Kind.ofSystem() && !known {
		return fmt.Errorf("command %q for %s: %w", r.ID, r.System, ErrUnknownSystem)
	}
	r.status = r.queued()
	if r.Kind.power() {
		r.status = r.status.follows(system.Command)
	}
	if !a.remember(r.status) {
		return fmt.Errorf("command %q for %s: %w", r.ID, a.key, ErrQueueFull)
	}
	switch {
	case r.Kind.power():
		system.Command = r.status
	case r.Kind.ofSystem():
		system.Setting = r.status
	default:
		o.Job = r.status
	}
	a.seen = o
	a.inbox = append(a.inbox, r)
	a.wake()
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

// wake wakes the actor; it reads the whole mailbox, so one token is enough.
func (a *actor) wake() {
	select {
	case a.woken <- struct{}{}:
	default:
	}
}
