package rolloutpolicy

import (
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// lack is what a change that is complete lacks to be over: which failure that is in the end, and the gate where it waits.
type lack struct {
	failure string
	gate    rollout.Gate
}

// lacks says what a change that is complete lacks, nil: nothing. Its servers are to be available again, and then to pass the gates of its wave, one
// after the other. The gates are those of the policy as it is now: who takes one away lets a rollout go on.
func (v *view) lacks(c *change, ch child, p rollout.Policy, permit *rolloutpermit.Permit, item *rollout.Item) *lack {
	gates := p.GatesOf(permit.Wave)
	if permit.Returned.IsZero() {
		switch {
		case !v.available(item.Machines):
			return &lack{failure: FailureNotReturned}
		case len(gates) == 0:
			return nil
		}
		permit.Returned = v.now.UTC()
	}
	if slices.Contains(gates, rollout.ProbeBoot) && v.unproved(c, ch, permit, item) {
		return &lack{FailureNoReport, rollout.ProbeBoot}
	}
	if !v.available(item.Machines) {
		return &lack{failure: FailureNotReturned}
	}
	if slices.Contains(gates, rollout.Health) && v.worse(permit, item.Machines) {
		return &lack{FailureUnhealthy, rollout.Health}
	}
	return nil
}

// healths rank what the condition Healthy says of a server by its reason, the worse the greater. What it does not say is not held against it.
var healths = map[string]int{metalv1.ReasonHealthWarning: 1, metalv1.ReasonHealthCritical: 2}

// healthOf is the reason for which a server is not well; empty: it is, or nothing is known.
func healthOf(s *metalv1.Server) string {
	c := apimeta.FindStatusCondition(s.Status.Conditions, metalv1.ConditionHealthy)
	if c == nil || c.Status != metav1.ConditionFalse || healths[c.Reason] == 0 {
		return ""
	}
	return c.Reason
}

// worst is the worst health of servers, as a permit keeps it.
func (v *view) worst(names []string) (worst string) {
	for _, name := range names {
		if h := v.servers[name].health; healths[h] > healths[worst] {
			worst = h
		}
	}
	return worst
}

// worse reports whether servers are worse than when their change began: what was wrong with them before it is not its fault.
func (v *view) worse(permit *rolloutpermit.Permit, names []string) bool {
	return healths[v.worst(names)] > healths[permit.Health]
}

// mayComeLate reports whether a failure is none any more once what was missing has come.
func mayComeLate(failure string) bool {
	return failure == FailureNotReturned || failure == FailureNoReport || failure == FailureUnhealthy
}

// shut is the gate that a change with such a failure has not passed; empty: none was in its way. Servers that are not back have not come to theirs.
func shut(failure string, gates []rollout.Gate) rollout.Gate {
	switch {
	case len(gates) == 0:
		return ""
	case failure == FailureNotReturned:
		return gates[0]
	case failure == FailureNoReport:
		return rollout.ProbeBoot
	case failure == FailureUnhealthy:
		return rollout.Health
	}
	return ""
}

// unproved reports whether a server of a change is yet to boot the probe, and asks it to. Servers that a claim has cannot, and are counted.
func (v *view) unproved(c *change, ch child, permit *rolloutpermit.Permit, item *rollout.Item) (some bool) {
	id := fmt.Sprintf("%s/%s@%s", c.kind.Child, ch.GetName(), permit.Begun.UTC().Format(time.RFC3339))
	permit.Skipped = 0
	for _, name := range item.Machines {
		switch s, exists := v.servers[name]; {
		case !exists, s.proved == id:
		case s.claimed:
			permit.Skipped++
		default:
			some = true
			v.asking[name] = append(v.asking[name], id)
		}
	}
	item.Skipped = permit.Skipped
	return some
}

// asks are the boots of the probe to be asked for, by the names of servers. Changes that share a server take turns: one boot proves one change.
func (v *view) asks() map[string]string {
	asks := map[string]string{}
	for name, ids := range v.asking {
		if !slices.Contains(ids, v.servers[name].asked) {
			asks[name] = ids[0]
		}
	}
	return asks
}
