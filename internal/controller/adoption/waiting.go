package adoption

import (
	"sync"
	"time"

	"github.com/farrier-dev/farrier/internal/dhcp"
)

// maxWaiting is how many clients wait for their turn. One that does not fit in comes again when it renews its lease.
const maxWaiting = maxAdopted

// candidate is a client that something may have to be written for.
type candidate struct {
	seen dhcp.Sighting
	// turn is when it may be; zero: it has none yet.
	turn time.Time
}

// waiting are clients by the names of their Endpoints. It is safe for concurrent use.
type waiting struct {
	mu sync.Mutex
	by map[string]candidate
}

// put keeps the last sighting of a client, which keeps its turn, and reports whether there was room.
func (w *waiting) put(name string, s dhcp.Sighting) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, has := w.by[name]
	if !has && len(w.by) >= maxWaiting {
		return false
	}
	c.seen = s
	w.by[name] = c
	return true
}

// take returns a client, which no longer waits, or how long it still has to.
func (w *waiting) take(name string, now time.Time) (c candidate, wait time.Duration, has bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, has = w.by[name]
	if wait = c.turn.Sub(now); has && wait > 0 {
		return c, wait, true
	}
	delete(w.by, name)
	return c, 0, has
}

// putBack has a client wait for its turn, with what was seen of it since.
func (w *waiting) putBack(name string, c candidate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if newer, has := w.by[name]; has {
		c.seen = newer.seen
	}
	w.by[name] = c
}

func (w *waiting) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.by)
}
