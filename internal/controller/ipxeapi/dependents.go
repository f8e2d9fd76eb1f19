package ipxeapi

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// dependents holds what objects depend on, so that a change of a thing finds the objects that
// depend on it. The zero value is ready for use.
type dependents[Thing comparable] struct {
	mu     sync.Mutex
	things map[types.NamespacedName]map[Thing]struct{}
	users  map[Thing]map[types.NamespacedName]struct{}
}

// set records what an object depends on now, and returns what no object depends on any more.
func (d *dependents[Thing]) set(object types.NamespacedName, things ...Thing) (unused []Thing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.things == nil {
		d.things, d.users = map[types.NamespacedName]map[Thing]struct{}{}, map[Thing]map[types.NamespacedName]struct{}{}
	}
	before := d.things[object]
	if len(things) == 0 {
		delete(d.things, object)
	} else {
		d.things[object] = map[Thing]struct{}{}
	}
	for _, thing := range things {
		d.things[object][thing] = struct{}{}
		if d.users[thing] == nil {
			d.users[thing] = map[types.NamespacedName]struct{}{}
		}
		d.users[thing][object] = struct{}{}
		delete(before, thing)
	}
	for thing := range before {
		if delete(d.users[thing], object); len(d.users[thing]) == 0 {
			delete(d.users, thing)
			unused = append(unused, thing)
		}
	}
	return unused
}

// of returns the objects that depend on a thing.
func (d *dependents[Thing]) of(thing Thing) []types.NamespacedName {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.users[thing]))
}

func requests(names []types.NamespacedName) []reconcile.Request {
	found := make([]reconcile.Request, 0, len(names))
	for _, name := range names {
		found = append(found, reconcile.Request{NamespacedName: name})
	}
	return found
}
