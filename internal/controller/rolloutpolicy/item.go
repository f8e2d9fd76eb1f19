package rolloutpolicy

import (
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// Reasons of changes that were complete and have failed.
const (
	// FailureNotReturned: a server has not become available again.
	FailureNotReturned = "ServerDidNotReturn"
	// FailureNoReport: the probe of a server has not reported.
	FailureNoReport = "ProbeDidNotReport"
	// FailureUnhealthy: the BMC of a server reports that it is worse than before the change.
	FailureUnhealthy = "Unhealthy"
)

// itemOf is how a child stands in its rollout, and what its permit is to be. A child that had what it asks for before it was let begin is no item:
// wherever it counts would be one fewer that tries the change.
func (v *view) itemOf(c *change, ch child, p rollout.Policy) (item rollout.Item, permit *rolloutpermit.Permit, counts bool, again time.Time) {
	item = rollout.Item{ID: ch.id(), Machines: v.serversOf(c, ch.Target)}
	if ch.permit != nil {
		copied := *ch.permit
		permit = &copied
	}
	switch {
	case ch.Stand == childset.Working, ch.Outdated && permit.Open():
		item.Stand = rollout.Begun
	case ch.Outdated:
		item.Stand, item.Unready = rollout.Waiting, true
	case permit.Open():
		permit, again = v.advance(c, ch, p, permit, &item)
	case ch.Stand == childset.Completed && permit == nil:
		return item, nil, false, time.Time{}
	case ch.Stand == childset.Completed:
		v.ended(c, ch, p, permit, &item)
	case ch.Stand == childset.Failed:
		item.Stand, item.Class = rollout.Failed, ch.Reason
		if permit != nil {
			item.Ended, item.Class = permit.Ended, permit.Failure
		}
	default:
		item.Stand, item.Unready = rollout.Waiting, ch.Stand == childset.Unready
	}
	return item, permit, true, again
}

// advance is what becomes of an open permit.
func (v *view) advance(c *change, ch child, p rollout.Policy, permit *rolloutpermit.Permit, item *rollout.Item) (*rolloutpermit.Permit, time.Time) {
	item.Stand = rollout.Begun
	switch {
	case ch.Stand == childset.Failed:
		permit.Ended, permit.Failure = v.now.UTC(), ch.Reason
		item.Stand, item.Ended, item.Class = rollout.Failed, permit.Ended, permit.Failure
		return permit, time.Time{}
	case ch.Stand == childset.Waiting && c.held == rollout.Aborted:
		item.Stand = rollout.Waiting
		return nil, time.Time{}
	case ch.Stand != childset.Completed, c.unread:
		return permit, time.Time{}
	}
	if permit.Changed.IsZero() {
		permit.Changed = v.now.UTC()
	}
	lacks := v.lacks(c, ch, p, permit, item)
	deadline := permit.Changed.Add(p.Return)
	if !permit.Returned.IsZero() {
		deadline = permit.Returned.Add(p.Return)
	}
	switch {
	case lacks == nil:
		permit.Ended = v.now.UTC()
		item.Stand, item.Ended = rollout.Done, permit.Ended
	case !v.now.Before(deadline):
		permit.Ended, permit.Failure = v.now.UTC(), lacks.failure
		item.Stand, item.Ended, item.Class, item.Gate = rollout.Failed, permit.Ended, permit.Failure, shut(permit.Failure, p.GatesOf(permit.Wave))
	default:
		item.Gate = lacks.gate
		return permit, deadline
	}
	return permit, time.Time{}
}

// ended is a change that is over, whose target has what it asks for. A server that returns late, or passes its gates late, has passed.
func (v *view) ended(c *change, ch child, p rollout.Policy, permit *rolloutpermit.Permit, item *rollout.Item) {
	if mayComeLate(permit.Failure) && (c.unread || v.lacks(c, ch, p, permit, item) != nil) {
		item.Stand, item.Ended, item.Class, item.Gate = rollout.Failed, permit.Ended, permit.Failure, shut(permit.Failure, p.GatesOf(permit.Wave))
		return
	}
	if permit.Failure != "" {
		permit.Failure, permit.Ended = "", v.now.UTC()
	}
	item.Skipped = permit.Skipped
	item.Stand, item.Ended, item.Unwell = rollout.Done, permit.Ended, v.troubled(item.Machines)
	if slices.Contains(p.GatesOf(permit.Wave), rollout.Health) {
		item.Unwell = item.Unwell || v.worse(permit, item.Machines)
	}
}

// available reports whether all servers are. One that does not exist is not waited for.
func (v *view) available(names []string) bool {
	for _, name := range names {
		if s, ok := v.servers[name]; ok && !s.available {
			return false
		}
	}
	return true
}

func (v *view) troubled(names []string) bool {
	for _, name := range names {
		if v.servers[name].troubled {
			return true
		}
	}
	return false
}
