package rolloutpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/controller/turn"
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
	// Taken are targets that the Set leaves alone, because they have children of others.
	Taken []childset.Taken
}

// PlannedTarget is one target of a change.
type PlannedTarget struct {
	rollout.Step
	Name string
	// Places are where its servers stand: zone/rack.
	Places []string
	// Reason is what its object says of itself.
	Reason string
	// Approvals are the ServerClaims whose owners have to approve after the target was let begin.
	Approvals []string

	// asks is the maintenance that its object is yet to ask for; nil: none.
	asks *metalv1.ServerMaintenance
}

// Which chooses Sets by kind and name.
type Which func(kind, name string) bool

// Plan reads the changes of all Sets, and what would happen to each that is chosen. Nothing is written. An error is one of the API, or of a policy.
func Plan(ctx context.Context, from client.Reader, now clock.PassiveClock, which Which) ([]Planned, error) {
	v, err := (&reading{Reader: from, kinds: childset.Kinds(), permits: &permits{}, now: now.Now()}).gather(ctx)
	if err != nil {
		return nil, err
	}
	items := v.items(&plan{})
	var all []Planned
	for i, c := range v.changes {
		p := Planned{Kind: c.Kind, Name: c.Object.GetName(), Policy: c.Policy, Already: len(c.children) - len(items[i]), Taken: c.Taken}
		if !which(p.Kind, p.Name) {
			continue
		}
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
	return all, v.approvals(ctx, from, all)
}

func (v *view) planned(p *Planned, c *change, items [][]rollout.Item, at int) {
	children, places := map[string]child{}, map[string]string{}
	for _, ch := range c.children {
		children[ch.id()] = ch
	}
	slices.SortFunc(p.Taken, func(a, b childset.Taken) int { return strings.Compare(a.Target, b.Target) })
	for _, m := range v.machines {
		places[m.Name] = m.Zone + "/" + m.Rack
	}
	steps, decision := rollout.Plan(p.Says, v.factsOf(items, at))
	p.Decision = decision
	for _, step := range steps {
		ch := children[step.Item.ID]
		target := PlannedTarget{Step: step, Name: ch.Target, Reason: ch.Reason, asks: asks(ch)}
		for _, machine := range step.Item.Machines {
			target.Places = append(target.Places, places[machine])
		}
		p.Targets = append(p.Targets, target)
	}
}

// asks is the maintenance that a child with something to do asks its servers for.
func asks(ch child) *metalv1.ServerMaintenance {
	if ch.Object == nil || ch.Stand != childset.Waiting {
		return nil
	}
	return &metalv1.ServerMaintenance{Spec: metalv1.ServerMaintenanceSpec{Policy: ch.Policy}}
}

// approvals finds out whose owners have to approve.
func (v *view) approvals(ctx context.Context, from client.Reader, all []Planned) error {
	if len(all) == 0 || len(v.claims) == 0 {
		return nil
	}
	var list metalv1.ServerClaimList
	if err := from.List(ctx, &list); err != nil {
		return fmt.Errorf("list the ServerClaims: %w", err)
	}
	claims := make(map[client.ObjectKey]*metalv1.ServerClaim, len(list.Items))
	for i := range list.Items {
		claims[client.ObjectKeyFromObject(&list.Items[i])] = &list.Items[i]
	}
	for i := range all {
		for j := range all[i].Targets {
			target := &all[i].Targets[j]
			for _, machine := range target.Item.Machines {
				if claim := claims[v.claims[machine]]; target.asks != nil && !turn.Approved(target.asks, claim) {
					target.Approvals = append(target.Approvals, claim.Namespace+"/"+claim.Name)
				}
			}
		}
	}
	return nil
}

// BakeOf is how long a wave bakes, and up to how many of all targets it goes; the rest has neither.
func (p *Planned) BakeOf(wave int) (upTo string, bake time.Duration) {
	if wave > len(p.Says.Waves) {
		return "", 0
	}
	w := p.Says.Waves[wave-1]
	return w.UpTo.String(), w.Bake
}
