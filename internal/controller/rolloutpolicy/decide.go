package rolloutpolicy

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// plan is what is to be written.
type plan struct {
	permits []write
	// asks are the boots of the probe that are to be asked for, by the names of servers.
	asks map[string]string
	// stands are how the changes stand, in the order of the view.
	stands []stand
	// again is when time alone changes the decision; zero: never.
	again time.Time
}

// write is a permit that is to be written on a child; nil takes it away.
type write struct {
	kind   string
	child  client.Object
	permit *rolloutpermit.Permit
}

// stand is how one change stands.
type stand struct {
	change   *change
	decision *rollout.Decision // nil where its policy cannot be followed
	// already is how many targets had what is asked for.
	already int
	// first is the wait of the first item that waits.
	first *rollout.Wait
}

// decide says what to write. Every change sees what those before it have begun.
func (v *view) decide() plan {
	var p plan
	items := v.items(&p)
	p.asks = v.asks()
	for i, c := range v.changes {
		p.stands = append(p.stands, stand{change: c})
		s := &p.stands[i]
		s.already = len(c.children) - len(items[i])
		if followed := v.policies[c.Policy]; followed != nil && followed.err == nil {
			v.begin(&p, s, items, i)
		}
	}
	return p
}

// items are those of all changes whose policy exists.
func (v *view) items(p *plan) [][]rollout.Item {
	items := make([][]rollout.Item, len(v.changes))
	for i, c := range v.changes {
		if followed := v.policies[c.Policy]; followed != nil {
			items[i] = v.itemsOf(p, c, followed.says)
		}
	}
	return items
}

// saysOf is the policy of a change, with what a person has said of it.
func (v *view) saysOf(c *change) rollout.Policy {
	says := v.policies[c.Policy].says
	if says.Accepted = c.accepted; c.held != "" {
		says.Held = c.held
	}
	return says
}

// factsOf are what is known when one of all changes is decided.
func (v *view) factsOf(items [][]rollout.Item, at int) *rollout.Facts {
	facts := &rollout.Facts{Now: v.now, Machines: v.machines, Items: items[at]}
	for i := range items {
		if i != at {
			facts.Others = append(facts.Others, items[i]...)
		}
	}
	return facts
}

// itemsOf are the items of a change, in their order. Permits that end are written.
func (v *view) itemsOf(p *plan, c *change, says rollout.Policy) []rollout.Item {
	items := make([]rollout.Item, 0, len(c.children))
	for _, ch := range c.children {
		item, permit, counts, again := v.itemOf(c, ch, says)
		p.wake(again)
		if !same(permit, ch.permit) {
			p.permits = append(p.permits, write{c.kind.Child, ch.Object, permit})
		}
		if counts {
			items = append(items, item)
		}
	}
	rollout.Order(items, v.machines)
	return items
}

// begin lets items of a change begin.
func (v *view) begin(p *plan, s *stand, items [][]rollout.Item, at int) {
	c := s.change
	s.decision = rollout.Decide(v.saysOf(c), v.factsOf(items, at))
	p.wake(s.decision.Again)
	begun := make(map[string]bool, len(s.decision.Begin))
	for _, id := range s.decision.Begin {
		begun[id] = true
	}
	for i := range items[at] {
		item := &items[at][i]
		if begun[item.ID] {
			item.Stand = rollout.Begun
		} else if wait, waits := s.decision.Waits[item.ID]; waits && s.first == nil {
			s.first = &wait
		}
	}
	for _, ch := range c.children {
		if begun[ch.id()] {
			p.permits = append(p.permits, write{c.kind.Child, ch.Object, &rolloutpermit.Permit{
				Begun: v.now.UTC(), Wave: s.decision.Wave, Health: v.worst(v.serversOf(c, ch.Target)),
			}})
		}
	}
}

func same(a, b *rolloutpermit.Permit) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Begun.Equal(b.Begun) && a.Changed.Equal(b.Changed) && a.Returned.Equal(b.Returned) && a.Ended.Equal(b.Ended) && a.Failure == b.Failure &&
		a.Wave == b.Wave && a.Skipped == b.Skipped && a.Health == b.Health
}

// wake asks for another decision at t.
func (p *plan) wake(t time.Time) {
	if !t.IsZero() && (p.again.IsZero() || t.Before(p.again)) {
		p.again = t
	}
}
