package server

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// notBegun is the priority of servers that nothing has been done for yet: below that of all others, above that of what a start
// of the manager lists.
const notBegun = -10

// line is the queue of servers. Those that are under way go before those that nothing has been done for: where there is more
// to do than processors can, each server is done with soon after it was begun. Side by side ten thousand would all take as long
// as all of them together, and status would have to tell of each step that takes long.
type line struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	begun func(server string) bool
}

// newQueue makes the line, as controller.Options wants it.
func (r *Reconciler) newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	queue := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) {
		o.RateLimiter, o.Log = limiter, r.Logger
	})
	return &line{queue, r.hasBegun}
}

func (l *line) Add(request reconcile.Request) {
	l.AddWithOpts(priorityqueue.AddOpts{}, request)
}

func (l *line) AddAfter(request reconcile.Request, after time.Duration) {
	l.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

func (l *line) AddRateLimited(request reconcile.Request) {
	l.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (l *line) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		mine := o
		switch asked := ptr.Deref(o.Priority, 0); {
		case !l.begun(request.Name):
			mine.Priority = ptr.To(min(asked, notBegun))
		case asked == notBegun: // it was when it was queued last
			mine.Priority = nil
		}
		l.PriorityQueue.AddWithOpts(mine, request)
	}
}

// undertaken has the servers whose first boot was prepared and that are not Available yet. It is lost with the process, which
// costs no more than their turn.
type undertaken struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func (u *undertaken) set(server string, is bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names == nil {
		u.names = map[string]struct{}{}
	}
	if delete(u.names, server); is {
		u.names[server] = struct{}{}
	}
}

func (u *undertaken) has(server string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, is := u.names[server]
	return is
}

// hasBegun says whether something has been done for a server.
func (r *Reconciler) hasBegun(server string) bool {
	state := r.census.state(server)
	return r.undertaken.has(server) || state != "" && state != metalv1.ServerStateInitial
}
