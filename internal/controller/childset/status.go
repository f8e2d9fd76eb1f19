package childset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
)

// Reasons of the condition Ready of a Set.
const (
	reasonInvalid  = "InvalidSpec"
	reasonNoPolicy = "RolloutPolicyNotFound"
	reasonEnding   = "Ending"
	reasonTaken    = "TargetTaken"
	reasonName     = "NameTaken"
	reasonFailed   = "ChildrenFailed"
	reasonProgress = "ChildrenInProgress"
	reasonComplete = "ChildrenCompleted"
	reasonNothing  = "NothingSelected"
)

// census is what is found of a Set when its targets and children are counted.
type census struct {
	counters
	// taken are targets that have a child of somebody else, missing those that have none yet, outdated children those with an earlier template.
	taken, missing, outdated int
	// policy is the RolloutPolicy that the Set goes by and that does not exist, if that is so.
	policy string
	// takenBy, missed and failure are the first of each, in words; nameTaken says that missed cannot be made.
	takenBy, missed, failure string
	nameTaken                bool
}

// report writes status, once, and only if it says anything new.
func (r *Sets) report(ctx context.Context, s *set, children []client.Object) error {
	c, err := r.take(ctx, s, children)
	if err != nil {
		return err
	}
	before := copyOf(s.Object)
	stands := r.Kind.count(s.Object, c.counters)
	*stands.generation = s.GetGeneration()
	ready := r.Kind.condition(s, c)
	ready.Type, ready.ObservedGeneration = metalv1.ConditionReady, s.GetGeneration()
	apimeta.SetStatusCondition(stands.conditions, ready)
	if equality.Semantic.DeepEqual(before, s.Object) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, s.Object, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return nil
}

// take counts the targets and the children of a Set.
func (r *Sets) take(ctx context.Context, s *set, children []client.Object) (*census, error) {
	c := &census{}
	slices.SortFunc(children, byName)
	has := make(map[string]bool, len(children))
	for _, child := range children {
		has[r.Kind.targetOf(child)] = true
		c.child(r.Kind, s, child)
	}
	if s.problem != nil || deleting(s) {
		return c, nil
	}
	if policy := rolloutpermit.PolicyOf(s, false); policy != "" {
		switch exists, err := policyExists(ctx, r, policy); {
		case err != nil:
			return nil, err
		case !exists:
			c.policy = policy
		}
	}
	targets, err := list(ctx, r, r.Kind.targets(), client.MatchingLabelsSelector{Selector: s.selector})
	if err != nil {
		return nil, fmt.Errorf("list the %ss that %s %q selects: %w", r.Kind.Target, r.Kind.Name, s.GetName(), err)
	}
	slices.SortFunc(targets, byName)
	for _, target := range targets {
		if deleting(target) {
			continue
		}
		if c.targets++; has[target.GetName()] {
			continue
		}
		if err := r.lacking(ctx, c, s, target.GetName()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// child counts one child.
func (c *census) child(k *Kind, s *set, child client.Object) {
	stands := k.stateOf(child)
	c.add(stands)
	if k.outdated(s, child) != nil {
		c.outdated++
	}
	if stands != failed || c.failure != "" {
		return
	}
	c.failure = fmt.Sprintf("%s %q", k.Child, child.GetName())
	if _, _, conditions := k.told(child); apimeta.FindStatusCondition(conditions, metalv1.ConditionReady) != nil {
		c.failure += ": " + apimeta.FindStatusCondition(conditions, metalv1.ConditionReady).Reason
	}
}

// lacking says why a target has no child of the Set.
func (r *Sets) lacking(ctx context.Context, c *census, s *set, target string) error {
	others, err := list(ctx, r, r.Kind.children(), client.MatchingFields{r.Kind.byTarget: target})
	if err != nil {
		return fmt.Errorf("list the %s of %s %q: %w", r.Kind.Child, r.Kind.Target, target, err)
	}
	if len(others) > 0 {
		slices.SortFunc(others, byAge)
		if c.taken++; c.takenBy == "" {
			c.takenBy = fmt.Sprintf("%s %q has %s", r.Kind.Target, target, r.Kind.described(others[0]))
		}
		return nil
	}
	if c.missing++; c.missed != "" && c.nameTaken {
		return nil
	}
	taken, err := r.namesTaken(ctx, s, target)
	if err != nil {
		return err
	}
	if c.missed == "" || taken {
		c.missed, c.nameTaken = target, taken
	}
	return nil
}

// namesTaken reports whether others have both names that a child could get.
func (r *Sets) namesTaken(ctx context.Context, s *set, target string) (bool, error) {
	plain, exact := names(s.GetName(), target)
	for _, name := range []string{plain, exact} {
		err := r.Get(ctx, client.ObjectKey{Name: name}, r.Kind.newChild(""))
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read %s %q: %w", r.Kind.Child, name, err)
		}
	}
	return true, nil
}

// condition says how a Set stands.
func (k *Kind) condition(s *set, c *census) metav1.Condition {
	say := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case deleting(s):
		return say(metav1.ConditionFalse, reasonEnding, "%d %s remain, %d of them in progress", c.available, k.Child, c.inProgress)
	case s.problem != nil:
		return say(metav1.ConditionFalse, reasonInvalid, "The selector cannot be read, so the %s stay as they are: %v", k.Child, s.problem)
	case c.policy != "":
		return say(metav1.ConditionFalse, reasonNoPolicy, "Nothing further begins: RolloutPolicy %.253q does not exist", c.policy)
	case c.taken > 0:
		return say(metav1.ConditionFalse, reasonTaken, "%d of %d selected %ss have %s of others, which stay as they are: %s", c.taken, c.targets, k.Target, k.Child, c.takenBy)
	case c.nameTaken:
		plain, exact := names(s.GetName(), c.missed)
		return say(metav1.ConditionFalse, reasonName, "%s %q gets no %s: others have the names %q and %q", k.Target, c.missed, k.Child, plain, exact)
	case c.failed > 0:
		return say(metav1.ConditionFalse, reasonFailed, "%d of %d %s have failed, first %s", c.failed, c.available, k.Child, c.failure)
	case c.targets == 0 && c.available == 0:
		return say(metav1.ConditionTrue, reasonNothing, "The selector selects no %s", k.Target)
	case c.completed < c.available || c.missing > 0 || c.outdated > 0:
		return say(metav1.ConditionFalse, reasonProgress, "%d of %d selected %ss are completed; %d wait, %d are in progress, %d have an earlier template", c.completed, c.targets, k.Target,
			int(c.pending)+c.missing, c.inProgress, c.outdated)
	}
	return say(metav1.ConditionTrue, reasonComplete, "All %d selected %ss are completed", c.targets, k.Target)
}

// Progress is how far a Set has come: its counters, which its conditions need not change with.
func (k *Kind) Progress(obj client.Object) string {
	c, _ := k.counted(obj)
	return fmt.Sprint(c)
}

func byName(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) }
