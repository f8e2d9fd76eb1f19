package resolver

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Config says how a Resolver works. Resolve, Parallel, the back-off and Clock are required.
type Config[K comparable, R, V any] struct {
	// Resolve makes one attempt.
	Resolve func(context.Context, R) (V, error)
	// Parallel bounds the attempts that are under way at once.
	Parallel int
	// MinBackoff and MaxBackoff bound the pause after a failure, which doubles with each.
	MinBackoff, MaxBackoff time.Duration
	// Patient reports whether only time mends an error: the pause after it is MaxBackoff at once. nil: no error is such.
	Patient func(error) bool
	// Refresh returns after how long an answer is asked for again; zero: never. nil: never.
	Refresh func(R) time.Duration
	// Changed reports whether subscribers hear of a result that follows another one. They always hear of the first. nil: always.
	Changed func(before, after Result[V]) bool
	// Before orders keys that wait for an attempt. nil: in the order in which they became due.
	Before func(a, b K) bool
	Clock  clock.WithTicker
}

// Result is what is known.
type Result[V any] struct {
	// Value is the last good answer. It stays when later attempts fail.
	Value V
	// At is when Value was last confirmed; zero: there never was a good answer.
	At time.Time
	// Err is what the last attempt failed with, nil if it succeeded.
	Err error
}

// Resolver finds out answers to requests of type R, by their key. It works while Run does.
type Resolver[K comparable, R, V any] struct {
	config  Config[K, R, V]
	backoff workqueue.TypedRateLimiter[K]

	mu          sync.Mutex
	entries     map[K]*entry[R, V]
	subscribers []func(R)
	queue       workqueue.TypedDelayingInterface[K] // nil before Run
}

// entry is one key that somebody is interested in. Resolver.mu guards it.
type entry[R, V any] struct {
	request R
	known   bool
	result  Result[V]
	due     time.Time
	never   bool // not due any more
	running bool
}

// New returns a resolver that knows nothing.
func New[K comparable, R, V any](config Config[K, R, V]) *Resolver[K, R, V] {
	return &Resolver[K, R, V]{
		config:  config,
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[K](config.MinBackoff, config.MaxBackoff),
		entries: make(map[K]*entry[R, V]),
	}
}

// Lookup returns what is known about a key, without waiting. False means that nothing is known yet: an attempt will be made, and
// subscribers will hear of it.
func (r *Resolver[K, R, V]) Lookup(key K, request R) (Result[V], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[key]
	if !ok {
		e = &entry[R, V]{request: request}
		r.entries[key] = e
		r.schedule(key, e, 0)
	}
	return e.result, e.known
}

// Forget ends the interest in a key.
func (r *Resolver[K, R, V]) Forget(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, key)
	r.backoff.Forget(key)
}

// Subscribe adds a function that is called by goroutines of Run, several at once and without locks held, whenever Lookup would return something new
// about a request. It must not block.
func (r *Resolver[K, R, V]) Subscribe(changed func(R)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscribers = append(r.subscribers, changed)
}

// Len returns how many keys somebody is interested in.
func (r *Resolver[K, R, V]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.entries)
}

// Busy returns how many keys are due or being resolved.
func (r *Resolver[K, R, V]) Busy() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if e.running || e.isDue(r.config.Clock.Now()) {
			n++
		}
	}
	return n
}

// Run resolves until the context ends, and returns when the last attempt has ended. It runs once.
func (r *Resolver[K, R, V]) Run(ctx context.Context) error {
	queue := r.start()
	var workers sync.WaitGroup
	defer workers.Wait()
	for range r.config.Parallel {
		workers.Go(func() {
			for r.next(ctx, queue) {
			}
		})
	}
	<-ctx.Done()
	queue.ShutDown()
	return nil
}

// start makes the queue, with all that was looked up before.
func (r *Resolver[K, R, V]) start() workqueue.TypedDelayingInterface[K] {
	config := workqueue.TypedQueueConfig[K]{Clock: r.config.Clock}
	if r.config.Before != nil {
		config.Queue = &ordered[K]{before: r.config.Before}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{
		Clock: r.config.Clock, Queue: workqueue.NewTypedWithConfig(config),
	})
	for key := range r.entries {
		r.queue.Add(key)
	}
	return r.queue
}

// schedule makes a key due after a while. The caller holds mu.
func (r *Resolver[K, R, V]) schedule(key K, e *entry[R, V], after time.Duration) {
	e.due = r.config.Clock.Now().Add(after)
	if r.queue != nil {
		r.queue.AddAfter(key, after)
	}
}

// next makes the next attempt. It returns false when the queue is shut down.
func (r *Resolver[K, R, V]) next(ctx context.Context, queue workqueue.TypedDelayingInterface[K]) bool {
	key, closed := queue.Get()
	if closed {
		return false
	}
	defer queue.Done(key)
	e := r.begin(ctx, key)
	if e == nil {
		return true
	}
	value, err := r.config.Resolve(ctx, e.request)
	for _, changed := range r.finish(ctx, key, e, value, err) {
		changed(e.request)
	}
	return true
}

// begin returns the entry of a key that is due, nil if it was forgotten. The queue may also hold what was due before it was forgotten and
// looked up again.
func (r *Resolver[K, R, V]) begin(ctx context.Context, key K) *entry[R, V] {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[key]
	if e == nil || ctx.Err() != nil || e.never {
		return nil
	}
	if now := r.config.Clock.Now(); !e.isDue(now) {
		r.queue.AddAfter(key, e.due.Sub(now))
		return nil
	}
	e.running = true
	return e
}

func (e *entry[R, V]) isDue(now time.Time) bool { return !e.never && !now.Before(e.due) }

// finish keeps the outcome of an attempt, plans the next one, and returns who hears of it. The end of Run is no outcome.
func (r *Resolver[K, R, V]) finish(ctx context.Context, key K, e *entry[R, V], value V, err error) []func(R) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.running = false
	if ctx.Err() != nil {
		return nil
	}
	before, first := e.result, !e.known
	e.known, e.result.Err = true, err
	if err == nil {
		e.result.Value, e.result.At = value, r.config.Clock.Now()
	}
	if r.entries[key] != e {
		return nil // forgotten meanwhile
	}
	r.again(key, e, err)
	if !first && r.config.Changed != nil && !r.config.Changed(before, e.result) {
		return nil
	}
	return slices.Clone(r.subscribers)
}

// again plans the next attempt. The caller holds mu.
func (r *Resolver[K, R, V]) again(key K, e *entry[R, V], err error) {
	if err != nil {
		pause := r.backoff.When(key)
		if r.config.Patient != nil && r.config.Patient(err) {
			pause = r.config.MaxBackoff
		}
		r.schedule(key, e, pause)
		return
	}
	r.backoff.Forget(key)
	var pause time.Duration
	if r.config.Refresh != nil {
		pause = r.config.Refresh(e.request)
	}
	if e.never = pause <= 0; !e.never {
		r.schedule(key, e, pause)
	}
}

// ordered is a queue that hands out the key that comes before all others. It implements workqueue.Queue.
type ordered[K comparable] struct {
	before func(a, b K) bool
	keys   []K
}

func (*ordered[K]) Touch(K) {}

func (q *ordered[K]) Push(key K) { q.keys = append(q.keys, key) }

func (q *ordered[K]) Len() int { return len(q.keys) }

func (q *ordered[K]) Pop() K {
	first := 0
	for i, key := range q.keys {
		if q.before(key, q.keys[first]) {
			first = i
		}
	}
	key := q.keys[first]
	q.keys = slices.Delete(q.keys, first, first+1)
	return key
}
