package ipxeapi

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// cacheLag is after how long an object is looked at again whose last write the cache did not show. It shows it within some milliseconds.
	cacheLag = 100 * time.Millisecond
	// maxBehind is how often, for one write. A write that changed nothing is never shown.
	maxBehind = 50
)

// ownWrites remembers from which version of an object its status was written last. Whoever reads that version again reads what is no longer so:
// that there is nothing to write is not known then. What differs is written with a lock, and fails. The zero value is ready.
type ownWrites struct {
	mu   sync.Mutex
	from map[types.NamespacedName]*ownWrite
}

// ownWrite is the version that a write was made from, and how often that version was read since.
type ownWrite struct {
	version string
	read    int
}

// wrote is told of a write and the object that it was made from.
func (w *ownWrites) wrote(before client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.from == nil {
		w.from = map[types.NamespacedName]*ownWrite{}
	}
	w.from[client.ObjectKeyFromObject(before)] = &ownWrite{version: before.GetResourceVersion()}
}

// unseen reports whether an object is as it was before the last write.
func (w *ownWrites) unseen(read client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := client.ObjectKeyFromObject(read)
	if last := w.from[name]; last != nil && last.version == read.GetResourceVersion() && last.read < maxBehind {
		last.read++
		return true
	}
	delete(w.from, name)
	return false
}

// forget is for an object that is gone.
func (w *ownWrites) forget(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.from, name)
}
