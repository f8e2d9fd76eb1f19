package connection

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Backings knows which objects have credentials in which core Secret. It is filled as they are looked at, each at least
// once after a start, so it is complete without a copy of every BMCSecret in memory.
type Backings struct {
	mu     sync.Mutex
	byName map[string]types.NamespacedName
	names  map[types.NamespacedName]map[string]struct{}
}

// Note remembers what the BMCSecret of an object stands for; nil: it has none.
func (b *Backings) Note(name string, secret *metalv1.BMCSecret) {
	var key types.NamespacedName
	backed := false
	if secret != nil {
		key, backed = Backing(secret)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, known := b.byName[name]; known {
		if backed && old == key {
			return
		}
		delete(b.byName, name)
		if delete(b.names[old], name); len(b.names[old]) == 0 {
			delete(b.names, old)
		}
	}
	if !backed {
		return
	}
	if b.byName == nil {
		b.byName, b.names = map[string]types.NamespacedName{}, map[types.NamespacedName]map[string]struct{}{}
	}
	if b.names[key] == nil {
		b.names[key] = map[string]struct{}{}
	}
	b.byName[name], b.names[key][name] = key, struct{}{}
}

// OfSecret are the objects with credentials in a core Secret.
func (b *Backings) OfSecret(_ context.Context, obj client.Object) []reconcile.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var requests []reconcile.Request
	for name := range b.names[client.ObjectKeyFromObject(obj)] {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
	return requests
}

// OfNamespace are those with credentials in a core Secret of a namespace.
func (b *Backings) OfNamespace(_ context.Context, obj client.Object) []reconcile.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var requests []reconcile.Request
	for name, key := range b.byName {
		if key.Namespace == obj.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
		}
	}
	return requests
}
