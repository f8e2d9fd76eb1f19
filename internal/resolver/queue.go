package resolver

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// queue hands out keys that are due, a key to one worker at a time. A key that is added while a worker has it is handed out again after
// that; one that is added twice is handed out once.
type queue[K comparable] struct {
	clock  clock.WithTicker
	before func(a, b K) bool // nil: in the order in which keys became due
	// sooner has a value when a key waits that is due before all others.
	sooner chan struct{}

	mu     sync.Mutex
	more   sync.Cond
	closed bool
	ready  []K
	// marked are keys that are ready, or will be when their worker is done; taken are those that workers have.
	marked, taken map[K]bool
	waiting       waiting[K]
	by            map[K]*delayed[K]
}

// delayed is a key that is not due yet.
type delayed[K comparable] struct {
	key   K
	at    time.Time
	index int
}

func newQueue[K comparable](c clock.WithTicker, before func(a, b K) bool) *queue[K] {
	q := &queue[K]{clock: c, before: before, sooner: make(chan struct{}, 1), marked: map[K]bool{}, taken: map[K]bool{}, by: map[K]*delayed[K]{}}
	q.more.L = &q.mu
	return q
}

// add makes a key due after a while. If it waits already, the earlier time counts.
func (q *queue[K]) add(key K, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if after <= 0 {
		q.mark(key)
		return
	}
	at := q.clock.Now().Add(after)
	switch d := q.by[key]; {
	case d == nil:
		d = &delayed[K]{key: key, at: at}
		q.by[key] = d
		heap.Push(&q.waiting, d)
	case at.Before(d.at):
		d.at = at
		heap.Fix(&q.waiting, d.index)
	}
	if q.waiting[0].key != key {
		return
	}
	select {
	case q.sooner <- struct{}{}:
	default:
	}
}

// mark makes a key due now. The caller holds mu.
func (q *queue[K]) mark(key K) {
	if q.marked[key] || q.closed {
		return
	}
	q.marked[key] = true
	if !q.taken[key] {
		q.ready = append(q.ready, key)
		q.more.Signal()
	}
}

// get waits for a key that is due. It returns false when the queue has ended. Whoever has a key calls done.
func (q *queue[K]) get() (key K, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) == 0 && !q.closed {
		q.more.Wait()
	}
	if q.closed {
		return key, false
	}
	first := 0
	for i := range q.ready {
		if q.before != nil && q.before(q.ready[i], q.ready[first]) {
			first = i
		}
	}
	key = q.ready[first]
	q.ready = slices.Delete(q.ready, first, first+1)
	delete(q.marked, key)
	q.taken[key] = true
	return key, true
}

func (q *queue[K]) done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.taken, key)
	if q.marked[key] {
		q.ready = append(q.ready, key)
		q.more.Signal()
	}
}

// run makes keys due whose time has come, until ctx ends, and then ends the queue.
func (q *queue[K]) run(ctx context.Context) {
	defer q.end()
	for {
		timer := q.clock.NewTimer(q.due())
		select {
		case <-timer.C():
		case <-q.sooner:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// idle is how long run sleeps where nothing waits.
const idle = time.Hour

// due makes keys due whose time has come, and returns how long it is until the next one.
func (q *queue[K]) due() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	for len(q.waiting) > 0 {
		next := q.waiting[0]
		if now.Before(next.at) {
			return next.at.Sub(now)
		}
		heap.Pop(&q.waiting)
		delete(q.by, next.key)
		q.mark(next.key)
	}
	return idle
}

func (q *queue[K]) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.more.Broadcast()
}

// waiting is a heap of keys that are not due yet, the next one first.
type waiting[K comparable] []*delayed[K]

func (w waiting[K]) Len() int           { return len(w) }
func (w waiting[K]) Less(i, j int) bool { return w[i].at.Before(w[j].at) }
func (w waiting[K]) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}

// Push implements heap.Interface.
func (w *waiting[K]) Push(x any) {
	if d, ok := x.(*delayed[K]); ok {
		d.index = len(*w)
		*w = append(*w, d)
	}
}

// Pop implements heap.Interface.
func (w *waiting[K]) Pop() any {
	last := len(*w) - 1
	d := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return d
}
