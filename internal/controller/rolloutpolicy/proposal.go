package rolloutpolicy

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/childset"
)

// Proposal is what somebody is about to apply. The API has none of it yet, or has it otherwise.
type Proposal struct {
	Policies []*farrierv1.RolloutPolicy
	// Sets are in the Go types of their kinds.
	Sets []client.Object
}

// PlanProposal reads what would happen to the Sets of a proposal once it is applied. Nothing is written. An error is one of the API, or of a policy.
func PlanProposal(ctx context.Context, from client.Reader, proposal Proposal, now clock.PassiveClock) ([]Planned, error) {
	foreseen, err := foresee(ctx, from, proposal, now)
	if err != nil {
		return nil, err
	}
	return Plan(ctx, foreseen, now, proposal.has)
}

// has reports whether a Set is one of the proposal.
func (p *Proposal) has(kind, name string) bool {
	return slices.ContainsFunc(p.Sets, func(s client.Object) bool { return s.GetName() == name && isKind(s, kind) })
}

func isKind(set client.Object, kind string) bool { return reflect.TypeOf(set).Elem().Name() == kind }

// foresee reads the API as if a proposal were applied, and the Sets of its kinds had made their children.
func foresee(ctx context.Context, from client.Reader, proposal Proposal, now clock.PassiveClock) (*overlay, error) {
	over := &overlay{Reader: from, lists: map[reflect.Type][]runtime.Object{}}
	policies, err := over.policies(ctx, proposal.Policies)
	if err != nil {
		return nil, err
	}
	for _, kind := range childset.Kinds() {
		var sets []client.Object
		for _, set := range proposal.Sets {
			if isKind(set, kind.Name) {
				sets = append(sets, set)
			}
		}
		if len(sets) == 0 {
			continue
		}
		f, err := kind.ForecastAll(ctx, from, sets, now.Now(), policies[farrierv1.DefaultRolloutPolicy])
		if err != nil {
			return nil, err
		}
		over.put(kind.NewSetList(), f.Sets)
		over.put(kind.NewChildList(), f.Children)
	}
	return over, nil
}

// overlay is an API some of whose lists are other ones. It lists these as a whole, whatever is asked for.
type overlay struct {
	client.Reader
	lists map[reflect.Type][]runtime.Object
}

// policies lays proposed RolloutPolicies over those that stand, and returns the names of all.
func (o *overlay) policies(ctx context.Context, proposed []*farrierv1.RolloutPolicy) (map[string]bool, error) {
	var standing farrierv1.RolloutPolicyList
	if err := o.List(ctx, &standing); err != nil {
		return nil, fmt.Errorf("list the RolloutPolicies: %w", err)
	}
	names := map[string]bool{}
	var all []client.Object
	for _, p := range proposed {
		names[p.Name] = true
		all = append(all, p)
	}
	for i := range standing.Items {
		if p := &standing.Items[i]; !names[p.Name] {
			names[p.Name] = true
			all = append(all, p)
		}
	}
	o.put(&farrierv1.RolloutPolicyList{}, all)
	return names, nil
}

func (o *overlay) put(list client.ObjectList, objects []client.Object) {
	items := make([]runtime.Object, 0, len(objects))
	for _, obj := range objects {
		items = append(items, obj)
	}
	o.lists[reflect.TypeOf(list)] = items
}

// List implements client.Reader.
func (o *overlay) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	items, ok := o.lists[reflect.TypeOf(list)]
	if !ok {
		return o.Reader.List(ctx, list, options...)
	}
	return apimeta.SetList(list, items)
}
