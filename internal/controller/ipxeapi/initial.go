package ipxeapi

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// Initial knows which objects existed at the start and have not been looked at yet. Until
// all have been, the view must not say that nothing is assigned to a machine.
type Initial struct {
	view  *profile.View
	cache cache.Cache

	mu      sync.Mutex
	begun   bool
	missing map[existing]struct{}
	early   map[existing]struct{}
}

// existing is an object that existed at the start.
type existing struct {
	kind string
	name types.NamespacedName
}

const (
	kindProfile    = "Profile"
	kindAssignment = "Assignment"
)

// NewInitial marks the view once what the cache holds at the start is in it.
func NewInitial(view *profile.View, objects cache.Cache) *Initial {
	return &Initial{view: view, cache: objects, early: map[existing]struct{}{}}
}

// Start is called by the manager when it is this process's turn.
func (i *Initial) Start(ctx context.Context) error {
	if !i.cache.WaitForCacheSync(ctx) {
		return nil
	}
	var profiles ipxev1.ProfileList
	if err := i.cache.List(ctx, &profiles, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Profiles: %w", err)
	}
	var assignments ipxev1.AssignmentList
	if err := i.cache.List(ctx, &assignments, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Assignments: %w", err)
	}
	all := map[existing]struct{}{}
	for n := range profiles.Items {
		all[existing{kindProfile, client.ObjectKeyFromObject(&profiles.Items[n])}] = struct{}{}
	}
	for n := range assignments.Items {
		all[existing{kindAssignment, client.ObjectKeyFromObject(&assignments.Items[n])}] = struct{}{}
	}
	i.begin(all)
	return nil
}

// begin names what has to be looked at first.
func (i *Initial) begin(all map[existing]struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for done := range i.early {
		delete(all, done)
	}
	i.begun, i.missing, i.early = true, all, nil
	if len(all) == 0 {
		i.view.SetSynced(true)
	}
}

// awaits reports whether an object of the start has not been looked at yet.
func (i *Initial) awaits(kind string, name types.NamespacedName) bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	object := existing{kind, name}
	if !i.begun {
		_, looked := i.early[object]
		return !looked
	}
	_, awaited := i.missing[object]
	return awaited
}

// done says that an object is in the view, or has no place there.
func (i *Initial) done(kind string, name types.NamespacedName) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	object := existing{kind, name}
	if !i.begun {
		i.early[object] = struct{}{}
		return
	}
	if _, awaited := i.missing[object]; !awaited {
		return
	}
	if delete(i.missing, object); len(i.missing) == 0 {
		i.view.SetSynced(true)
	}
}
