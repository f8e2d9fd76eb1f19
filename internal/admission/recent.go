package admission

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// recentFor is how long an admitted object is remembered: far longer than an index is behind.
	recentFor = 10 * time.Second
	// maxRecent bounds what is remembered. Beyond it an object is not, and the index alone knows of it.
	maxRecent = 1 << 16
)

// held is a value that an object of a kind has under an index.
type held struct {
	kind         schema.GroupKind
	index, value string
}

// recent remembers which object was admitted with which value. It is a hint: what was admitted may have failed later, so whoever uses it
// looks whether the object exists.
type recent struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	names map[held]map[types.NamespacedName]time.Time
	swept time.Time
}

func newRecent(c clock.PassiveClock) *recent {
	return &recent{clock: c, names: map[held]map[types.NamespacedName]time.Time{}, swept: c.Now()}
}

func (r *recent) remember(name types.NamespacedName, values []held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	r.sweep(now)
	for _, value := range values {
		names := r.names[value]
		if names == nil {
			if len(r.names) >= maxRecent {
				continue
			}
			names = map[types.NamespacedName]time.Time{}
			r.names[value] = names
		}
		names[name] = now
	}
}

func (r *recent) holders(value held) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.names[value]))
}

// sweep forgets what is old, once in a while, so that its cost is shared by many requests.
func (r *recent) sweep(now time.Time) {
	if now.Sub(r.swept) < recentFor {
		return
	}
	r.swept = now
	for value, names := range r.names {
		maps.DeleteFunc(names, func(_ types.NamespacedName, at time.Time) bool { return now.Sub(at) >= recentFor })
		if len(names) == 0 {
			delete(r.names, value)
		}
	}
}
