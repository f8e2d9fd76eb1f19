package objectqueue

import (
	"math"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Options are those of a controller with that many workers.
func Options(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return New(name, limiter)
		},
	}
}

// Queue is a priority queue that ends when the last worker that waits for an object has been told so.
//
// The queue below hands an object to a worker that it has counted as waiting, and holds its locks until the worker takes it. On its own ShutDown,
// waiting workers go without one: if an object is due at that moment, it waits for ever for somebody to take it, and whoever is done with another
// object waits for the lock.
type Queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu      sync.Mutex
	waiting int // workers
	ending  bool
}

// New returns an empty queue. The name is for its metrics.
func New(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) *Queue {
	return &Queue{PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })}
}

// GetWithPriority waits for an object, or for the end.
func (q *Queue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	if !q.enter() {
		return reconcile.Request{}, 0, true
	}
	request, priority, shutdown = q.PriorityQueue.GetWithPriority()
	if q.leave() {
		return reconcile.Request{}, 0, true
	}
	return request, priority, shutdown
}

// Get waits for an object, or for the end.
func (q *Queue) Get() (request reconcile.Request, shutdown bool) {
	request, _, shutdown = q.GetWithPriority()
	return request, shutdown
}

func (q *Queue) enter() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return false
	}
	q.waiting++
	return true
}

// leave reports whether the queue ends. The last worker that leaves ends it.
func (q *Queue) leave() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
	if q.ending && q.waiting == 0 {
		q.PriorityQueue.ShutDown()
	}
	return q.ending
}

// ShutDown ends the queue: no worker is given an object any more. Each that waits is woken with something to take, which has no name that
// an object could have.
func (q *Queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return
	}
	q.ending = true
	if q.waiting == 0 {
		q.PriorityQueue.ShutDown()
		return
	}
	for i := range q.waiting {
		end := reconcile.Request{NamespacedName: types.NamespacedName{Name: "/end/" + strconv.Itoa(i)}}
		q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(math.MaxInt)}, end)
	}
}

// ShutDownWithDrain is ShutDown: controllers do not wait for what is queued.
func (q *Queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown reports whether the queue ends.
func (q *Queue) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ending
}
