package claim

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/allocator"
)

// written remembers which version the last write of this process made of a claim, until the cache shows it or a later
// one. Whatever was decided of an older one would be refused for its version, and has been decided before.
type written struct {
	mu       sync.Mutex
	versions map[client.ObjectKey]string
}

func (w *written) remember(obj *metalv1.ServerClaim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[client.ObjectKey]string{}
	}
	w.versions[client.ObjectKeyFromObject(obj)] = obj.ResourceVersion
}

// after says whether the cache shows a claim as it was before the last write.
func (w *written) after(cached *metalv1.ServerClaim) bool {
	name := client.ObjectKeyFromObject(cached)
	w.mu.Lock()
	defer w.mu.Unlock()
	version, known := w.versions[name]
	if !known {
		return false
	}
	if allocator.Older(cached.ResourceVersion, version) {
		return true
	}
	delete(w.versions, name)
	return false
}

func (w *written) forget(name client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, name)
}
