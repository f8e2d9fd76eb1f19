package admission

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

const (
	// maxNamed bounds how many other objects a warning names.
	maxNamed = 3
	// maxConfirmed bounds how many are read from the API to find those.
	maxConfirmed = 8
)

// Assignments finds those that select the same machines. It follows a cache, which is behind by some milliseconds, and remembers beside it what
// was admitted a moment ago.
type Assignments struct {
	stored *assignment.Index

	mu       sync.Mutex
	admitted *assignment.Index
	at       map[types.NamespacedName]time.Time
	swept    time.Time
}

// NewAssignments knows of none.
func NewAssignments() *Assignments {
	return &Assignments{stored: assignment.NewIndex(), admitted: assignment.NewIndex(), at: map[types.NamespacedName]time.Time{}}
}

// Follow keeps up with a cache from now on.
func (x *Assignments) Follow(ctx context.Context, informers cache.Informers) error {
	informer, err := informers.GetInformer(ctx, &ipxev1.Assignment{})
	if err != nil {
		return fmt.Errorf("follow Assignments: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { x.put(obj) },
		UpdateFunc: func(old, obj any) {
			before, ok1 := old.(*ipxev1.Assignment)
			after, ok2 := obj.(*ipxev1.Assignment)
			if !ok1 || !ok2 || before.UID != after.UID || before.Generation != after.Generation {
				x.put(obj)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if a, ok := obj.(*ipxev1.Assignment); ok {
				x.stored.Delete(a.Namespace, a.Name)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("follow Assignments: %w", err)
	}
	return nil
}

func (x *Assignments) put(obj any) {
	if a, ok := obj.(*ipxev1.Assignment); ok {
		x.Put(a)
	}
}

// Put adds an Assignment as it is stored. One that is being deleted counts no more.
func (x *Assignments) Put(a *ipxev1.Assignment) {
	if a.DeletionTimestamp != nil {
		x.stored.Delete(a.Namespace, a.Name)
		return
	}
	x.stored.Put(compiled(a))
}

// admit remembers for a moment what was admitted.
func (x *Assignments) admit(a *assignment.Assignment, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if now.Sub(x.swept) >= recentFor {
		x.swept = now
		for name, at := range x.at {
			if now.Sub(at) >= recentFor {
				delete(x.at, name)
				x.admitted.Delete(name.Namespace, name.Name)
			}
		}
	}
	if len(x.at) < maxRecent {
		x.at[nameOf(a)] = now
		x.admitted.Put(a)
	}
}

// overlapping names those that may select some machines of an Assignment too while neither is the more special one.
func (x *Assignments) overlapping(a *assignment.Assignment) []types.NamespacedName {
	var found []types.NamespacedName
	for _, rules := range []*assignment.Index{x.stored, x.admitted} {
		if conflict, ok := rules.Conflicts(a); ok && conflict.Kind == assignment.Ambiguous {
			for _, peer := range conflict.Peers {
				found = append(found, nameOf(peer))
			}
		}
		for _, peer := range rules.Affected(a) {
			if assignment.Overlap(a, peer) {
				found = append(found, nameOf(peer))
			}
		}
	}
	slices.SortFunc(found, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(found)
}

func nameOf(a *assignment.Assignment) types.NamespacedName {
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}

// compiled is an Assignment as those of an index are. Its profile is what it asks for: two that ask for the same get the same, whichever that is.
func compiled(a *ipxev1.Assignment) *assignment.Assignment {
	profile := a.Spec.ProfileName
	if profile == "" {
		profile = fmt.Sprint(a.Spec.ProfileSelectors) // in the order of keys, and no name
	}
	selector, isDefault := spelling.Selector(&a.Spec)
	return &assignment.Assignment{
		Namespace: a.Namespace, Name: a.Name, Created: a.CreationTimestamp.Time, Admitted: index.Admitted(a), Priority: a.Spec.Priority, Profile: profile,
		Selector: selector, Default: isDefault,
	}
}

// overlap warns of other Assignments that select some of the same machines while nothing but order says which of them counts.
func overlap(ctx context.Context, c *check, now, before *ipxev1.Assignment) error {
	if c.Assignments == nil || !c.created() && reflect.DeepEqual(now.Spec, before.Spec) {
		return nil
	}
	own := compiled(now)
	own.Namespace, own.Name = c.Namespace, c.Name
	if own.Created.IsZero() {
		own.Created = c.Clock.Now()
	}
	if own.Name != "" {
		c.assigns = own
	}
	var first, later []types.NamespacedName // who comes before the new one, and who after it
	for i, name := range c.Assignments.overlapping(own) {
		if i == maxConfirmed || !c.spare.TryAccept() {
			break
		}
		var other ipxev1.Assignment
		exists, err := c.live(ctx, name, &other)
		if err != nil {
			return err
		}
		peer := compiled(&other)
		if !exists || other.DeletionTimestamp != nil || name == c.name() || !assignment.Overlap(own, peer) {
			continue
		}
		if order, _ := assignment.Compare(own, peer); order < 0 {
			later = append(later, name)
		} else {
			first = append(first, name)
		}
	}
	if len(first) > 0 {
		c.warn(selectorPath(now), "some machines are also selected by %s, at the same priority, and neither is more specific: those machines boot by it", c.names(first))
	}
	if len(later) > 0 {
		c.warn(selectorPath(now), "some machines are also selected by %s, at the same priority, and neither is more specific: those machines now boot by this Assignment", c.names(later))
	}
	return nil
}

// names are the first few of other Assignments, for somebody who may not see into their namespaces.
func (c *check) names(others []types.NamespacedName) string {
	var named []string
	foreign := 0
	for _, other := range others {
		if other.Namespace == c.Namespace {
			named = append(named, fmt.Sprintf("%q", other.Name))
		} else {
			foreign++
		}
	}
	more := max(len(named)-maxNamed, 0)
	text := "Assignment " + strings.Join(named[:len(named)-more], ", ")
	switch {
	case len(named) == 0:
		return "an Assignment in another namespace"
	case more+foreign > 0:
		return fmt.Sprintf("%s and %d more", text, more+foreign)
	}
	return text
}
