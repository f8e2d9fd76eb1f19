package connection

import (
	"slices"
	"sync"

	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Registry maps keys of the fleet to the names of the objects that an
// observation of that BMC shall wake. It is safe for concurrent use.
type Registry struct {
	fleet *fleet.Fleet
	mu    sync.RWMutex
	byKey map[fleet.Key][]listener // a BMC and its server, or a few
	keyOf map[listener]fleet.Key
	// candidates are the credentials that objects have for the BMCs they are bound to.
	candidates map[listener]*candidacy
}

type listener struct {
	source *trigger.Source
	name   string
}

// NewRegistry makes an empty registry and subscribes it to the fleet.
func NewRegistry(f *fleet.Fleet) *Registry {
	r := &Registry{
		fleet: f, byKey: map[fleet.Key][]listener{}, keyOf: map[listener]fleet.Key{}, candidates: map[listener]*candidacy{},
	}
	f.Subscribe(r.notify)
	return r
}

// Bind says that name, an object whose controller listens to source, is about
// the BMC at key. An earlier binding of the same object is replaced: Bind returns its key,
// and whether nobody listens to that any longer, as Unbind does.
func (r *Registry) Bind(source *trigger.Source, name string, key fleet.Key) (before fleet.Key, last bool) {
	l := listener{source, name}
	r.mu.RLock()
	before = r.keyOf[l]
	r.mu.RUnlock()
	if before == key {
		return before, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bind(l, key)
}

func (r *Registry) bind(l listener, key fleet.Key) (before fleet.Key, last bool) {
	if before = r.keyOf[l]; before == key {
		return before, false
	}
	r.unbind(l)
	last = before != "" && len(r.byKey[before]) == 0
	r.keyOf[l] = key
	r.byKey[key] = append(r.byKey[key], l)
	return before, last
}

// Bound are the names of the objects whose controller listens to source and that are bound to a key.
func (r *Registry) Bound(source *trigger.Source, key fleet.Key) (names []string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, l := range r.byKey[key] {
		if l.source == source {
			names = append(names, l.name)
		}
	}
	slices.Sort(names)
	return names
}

// Unbind forgets an object. It returns the key it was bound to, and whether
// nobody listens to that key any longer, so that its actor can be ended.
func (r *Registry) Unbind(source *trigger.Source, name string) (key fleet.Key, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := listener{source, name}
	key, bound := r.keyOf[l]
	if !bound {
		return "", false
	}
	r.unbind(l)
	return key, len(r.byKey[key]) == 0
}

// Release unbinds an object, and ends the actor of its BMC unless another object is bound to it.
func (r *Registry) Release(source *trigger.Source, name string) {
	if key, last := r.Unbind(source, name); last {
		r.fleet.Remove(key)
	}
}

// Key returns the key that an object is bound to.
func (r *Registry) Key(source *trigger.Source, name string) (fleet.Key, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	key, ok := r.keyOf[listener{source, name}]
	return key, ok
}

func (r *Registry) unbind(l listener) {
	key, bound := r.keyOf[l]
	if !bound {
		return
	}
	r.withdraw(l)
	delete(r.keyOf, l)
	others := slices.DeleteFunc(r.byKey[key], func(other listener) bool { return other == l })
	if r.byKey[key] = others; len(others) == 0 {
		delete(r.byKey, key)
	}
}

func (r *Registry) notify(key fleet.Key) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, l := range r.byKey[key] {
		l.source.Wake("", l.name)
	}
}
