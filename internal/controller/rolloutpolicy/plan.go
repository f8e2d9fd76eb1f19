package rolloutpolicy

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// Planned is what would happen to a change, in order, before anything does.
type Planned struct {
	// Kind and Name are those of the Set, Policy is that which it goes by.
	Kind, Name, Policy string
	Says               rollout.Policy
	Decision           *rollout.Decision
	Targets            []PlannedTarget
	// Already is how many targets have what is asked for.
	Already int
}

// PlannedTarget is one target of a change.
type PlannedTarget struct {
	rollout.Step
	Name string
	// Places are where its servers stand: zone/rack.
	Places []string
}

// Plan reads the changes of all Sets, and what would happen to each. Nothing is written. An error is one of the API, or of a policy.
func Plan(ctx context.Context, from client.Client, now clock.PassiveClock) ([]Planned, error) {
	r := &Reconciler{Client: from, Live: from, Kinds: childset.Kinds(), Clock: now}
	v, err := r.gather(ctx)
	if err != nil {
		return nil, err
	}
	items := v.items(&plan{})
	var all []Planned
	for i, c := range v.changes {
		p := Planned{Kind: c.Kind, Name: c.Object.GetName(), Policy: c.Policy, Already: len(c.children) - len(items[i])}
		switch followed := v.policies[c.Policy]; {
		case followed == nil:
			return nil, fmt.Errorf("%s %q: RolloutPolicy %q does not exist", p.Kind, p.Name, p.Policy)
		case followed.err != nil:
			return nil, fmt.Errorf("RolloutPolicy %q: %w", p.Policy, followed.err)
		}
		p.Says = v.saysOf(c)
		v.planned(&p, c, items, i)
		all = append(all, p)
	}
	return all, nil
}

func (v *view) planned(p *Planned, c *change, items [][]rollout.Item, at int) {
	names, places := map[string]string{}, map[string]string{}
	for _, ch := range c.children {
		names[ch.id()] = ch.Target
	}
	for _, m := range v.machines {
		places[m.Name] = m.Zone + "/" + m.Rack
	}
	steps, decision := rollout.Plan(p.Says, v.factsOf(items, at))
	p.Decision = decision
	for _, step := range steps {
		target := PlannedTarget{Step: step, Name: names[step.Item.ID]}
		for _, machine := range step.Item.Machines {
			target.Places = append(target.Places, places[machine])
		}
		p.Targets = append(p.Targets, target)
	}
}

// BakeOf is how long a wave bakes, and up to how many of all targets it goes; the rest has neither.
func (p *Planned) BakeOf(wave int) (upTo string, bake time.Duration) {
	if wave > len(p.Says.Waves) {
		return "", 0
	}
	w := p.Says.Waves[wave-1]
	return w.UpTo.String(), w.Bake
}
