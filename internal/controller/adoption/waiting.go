package adoption

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// maxWaiting is how many clients of a site wait for their turn. One that does not fit in comes again when it renews its lease.
const maxWaiting = maxAdopted

// candidate is a client that something may have to be written for.
type candidate struct {
	seen dhcp.Sighting
	// turn is when it may be; zero: it has none yet.
	turn time.Time
}

// waiting are clients by what they are reconciled as. It is safe for concurrent use.
type waiting struct {
	mu sync.Mutex
	by map[reconcile.Request]candidate
	// sites counts them by site.
	sites map[string]int
}

// put keeps the last sighting of a client, which keeps its turn, and reports whether there was room.
func (w *waiting) put(req reconcile.Request, s dhcp.Sighting) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, has := w.by[req]
	if !has && w.sites[req.Namespace] >= maxWaiting {
		return false
	}
	c.seen = s
	w.keep(req, c)
	return true
}

// take returns a client, which no longer waits, or how long it still has to.
func (w *waiting) take(req reconcile.Request, now time.Time) (c candidate, wait time.Duration, has bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, has = w.by[req]
	if wait = c.turn.Sub(now); has && wait > 0 {
		return c, wait, true
	}
	if !has {
		return c, 0, false
	}
	delete(w.by, req)
	if w.sites[req.Namespace]--; w.sites[req.Namespace] == 0 {
		delete(w.sites, req.Namespace)
	}
	return c, 0, true
}

// putBack has a client wait for its turn, with what was seen of it since.
func (w *waiting) putBack(req reconcile.Request, c candidate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if newer, has := w.by[req]; has {
		c.seen = newer.seen
	}
	w.keep(req, c)
}

// keep has a client wait. mu is held.
func (w *waiting) keep(req reconcile.Request, c candidate) {
	if _, has := w.by[req]; !has {
		w.sites[req.Namespace]++
	}
	w.by[req] = c
}

func (w *waiting) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.by)
}
