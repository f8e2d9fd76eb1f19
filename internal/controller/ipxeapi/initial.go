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

// Initial holds which objects of the start are not compiled yet. Until all are, the view must not answer that a machine has no
// assignment.
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

// NewInitial returns an Initial that marks the view synced once it has what the cache holds at the start.
func NewInitial(view *profile.View, objects cache.Cache) *Initial {
	return &Initial{view: view, cache: objects, early: map[existing]struct{}{}}
}

// Start is a Runnable of the manager's leader.
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

// begin records the objects of the start.
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

// awaits reports whether an object of the start is not compiled yet.
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

// done records that an object is in the view, or is not to be.
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
