package childset

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
)

// Stand is how a child stands, for a rollout.
type Stand int

// How a child stands.
const (
	Unready   Stand = iota // whether it has anything to do is being found out
	Waiting                // it has something to do, and waits for the rollout
	Working                // it may be at work on its target at any time
	Completed              // the target has what the child asks for
	Failed
)

// Child is what a rollout has to know of a child, or of an object that no Set has made.
type Child struct {
	client.Object // belongs to the cache
	Target        string
	Stand         Stand
	// Outdated says that it is about to get another template, or its policy: what it says is not about that.
	Outdated bool
	// Reason is that of the condition Ready.
	Reason string
	// Policy is how it asks for its servers.
	Policy metalv1.ServerMaintenancePolicy
}

// Taken is a target that a Set selects and that has a child of somebody else.
type Taken struct {
	Target string
	// By says whose, for people.
	By string
}

// Change is what one Set asks for, or one object that no Set has made.
type Change struct {
	// Object is the Set or object. It belongs to the cache. Kind is its kind, Policy the RolloutPolicy that it goes by.
	Object       client.Object
	Kind, Policy string
	Children     []Child
	// Missing are targets that are about to get a child.
	Missing []string
	// Taken are targets that the Set leaves alone.
	Taken []Taken
}

// Changes are those of a kind that go by a RolloutPolicy; defaults says that there is one for Sets that choose none.
func (k *Kind) Changes(ctx context.Context, from client.Reader, defaults bool) ([]Change, error) {
	objects, err := list(ctx, from, k.children())
	if err != nil {
		return nil, fmt.Errorf("list the %s: %w", k.Child, err)
	}
	sets, err := list(ctx, from, k.sets())
	if err != nil {
		return nil, fmt.Errorf("list the %ss: %w", k.Name, err)
	}
	var changes []Change
	of, oldest := map[types.UID][]client.Object{}, map[string]client.Object{}
	for _, obj := range objects {
		if first := oldest[k.targetOf(obj)]; first == nil || byAge(obj, first) < 0 {
			oldest[k.targetOf(obj)] = obj
		}
		if set := controllerOf(obj); set != "" {
			of[set] = append(of[set], obj)
		} else if policy := annotation(obj, metalv1.AnnotationRolloutPolicy); policy != "" && counts(obj) {
			changes = append(changes, Change{Object: obj, Kind: k.Child, Policy: policy, Children: []Child{k.readChild(nil, obj)}})
		}
	}
	for _, set := range sets {
		policy := rolloutpermit.PolicyOf(set, defaults)
		if policy == "" || deleting(set) {
			continue
		}
		s := k.readSet(set)
		c := Change{Object: set, Kind: k.Name, Policy: policy}
		own := map[string]bool{}
		for _, child := range of[set.GetUID()] {
			if own[k.targetOf(child)] = true; counts(child) {
				c.Children = append(c.Children, k.readChild(s, child))
			}
		}
		selected, err := k.selected(ctx, from, s)
		if err != nil {
			return nil, err
		}
		for _, target := range selected {
			switch other := oldest[target]; {
			case other == nil:
				c.Missing = append(c.Missing, target)
			case !own[target]:
				c.Taken = append(c.Taken, Taken{target, k.described(other)})
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// described names a child, and the Set that it belongs to.
func (k *Kind) described(child client.Object) string {
	text := fmt.Sprintf("%s %q", k.Child, child.GetName())
	if owner := metav1.GetControllerOfNoCopy(child); owner != nil {
		text += fmt.Sprintf(" of %s %q", owner.Kind, owner.Name)
	}
	return text
}

func counts(obj client.Object) bool { return !deleting(obj) && !metalv1.IsIgnored(obj) }

// selected are the names of the targets that a Set selects.
func (k *Kind) selected(ctx context.Context, from client.Reader, s *set) ([]string, error) {
	if s.frozen() {
		return nil, nil
	}
	targets, err := list(ctx, from, k.targets(), client.MatchingLabelsSelector{Selector: s.selector})
	if err != nil {
		return nil, fmt.Errorf("list the %ss that %s %q selects: %w", k.Target, k.Name, s.GetName(), err)
	}
	var names []string
	for _, target := range targets {
		if !deleting(target) {
			names = append(names, target.GetName())
		}
	}
	return names, nil
}

// readChild reads a child of a Set, or an object of which there is none.
func (k *Kind) readChild(s *set, obj client.Object) Child {
	c := Child{Object: obj, Target: k.targetOf(obj), Policy: k.policy(obj)}
	if s != nil {
		c.Outdated = annotation(obj, metalv1.AnnotationRolloutPolicy) == "" || k.outdated(s, obj) != nil
	}
	_, _, conditions := k.told(obj)
	if ready := apimeta.FindStatusCondition(conditions, metalv1.ConditionReady); ready != nil {
		c.Reason = ready.Reason
	}
	switch k.stateOf(obj) {
	case inProgress:
		c.Stand = Working
	case completed:
		c.Stand = Completed
	case failed:
		c.Stand = Failed
	case pending:
		if c.Stand = Unready; c.Reason == metalv1.ReasonWaitingForRollout {
			c.Stand = Waiting
		}
	}
	return c
}

// OfBMC reports whether the targets of a kind are BMCs, with all their servers, rather than Servers.
func (k *Kind) OfBMC() bool { return k.Target == "BMC" }

// NewSet is an empty Set, NewChild an empty child.
func (k *Kind) NewSet() client.Object { return k.newSet() }

// NewChild is the other half of NewSet.
func (k *Kind) NewChild() client.Object { return k.newChild("") }

// NewSetList is an empty list of Sets, NewChildList one of children.
func (k *Kind) NewSetList() client.ObjectList { return k.sets() }

// NewChildList is the other half of NewSetList.
func (k *Kind) NewChildList() client.ObjectList { return k.children() }

// ChildMoved reports whether a child stands otherwise for a rollout than it did.
func (k *Kind) ChildMoved(before, now client.Object) bool {
	a, b := k.readChild(nil, before), k.readChild(nil, now)
	return a.Stand != b.Stand || controllerOf(before) != controllerOf(now) || before.GetGeneration() != now.GetGeneration() || deleting(before) != deleting(now) || metalv1.IsIgnored(before) != metalv1.IsIgnored(now) ||
		annotation(before, metalv1.AnnotationRolloutPolicy) != annotation(now, metalv1.AnnotationRolloutPolicy) ||
		annotation(before, metalv1.AnnotationRolloutPermit) != annotation(now, metalv1.AnnotationRolloutPermit)
}

// policyExists reports whether there is a RolloutPolicy of a name.
func policyExists(ctx context.Context, from client.Reader, name string) (bool, error) {
	err := from.Get(ctx, client.ObjectKey{Name: name}, &farrierv1.RolloutPolicy{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("RolloutPolicy %q: %w", name, err)
	}
	return err == nil, nil
}

// follow is a child that goes by the policy of its Set. A new change needs another permit than the one before it.
func (v *view) follow(s *set, child client.Object, changed bool) client.Object {
	policy := rolloutpermit.PolicyOf(s, v.defaults)
	if annotation(child, metalv1.AnnotationRolloutPolicy) == policy && !(changed && rolloutpermit.Of(child) != nil) {
		return child
	}
	to := copyOf(child)
	if rolloutpermit.SetPolicy(to, policy); changed {
		rolloutpermit.Set(to, nil)
	}
	return to
}

func annotation(obj metav1.Object, key string) string { return obj.GetAnnotations()[key] }
