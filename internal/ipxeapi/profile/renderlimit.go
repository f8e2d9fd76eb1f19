package profile

import (
	"context"
	"sync"
)

// Bounds on how many scripts that decide or call functions are rendered at a time. All together they take
// maxRunning * MaxRendering = 11 MiB of memory.
const (
	maxRunning = 16
	// maxOfNamespace bounds those of one namespace, so that no tenant takes all, and maxWaiting how many of it may wait. A
	// rendering takes microseconds, at most milliseconds: more than that is a flood.
	maxOfNamespace = 4
	maxWaiting     = 256
)

// renderLimit bounds how many scripts are rendered at a time. The zero value is ready for use.
type renderLimit struct {
	mu         sync.Mutex
	running    chan struct{}
	namespaces map[string]*namespaceLimit
}

// namespaceLimit is the limit of one namespace. It exists while a request of the namespace runs or waits.
type namespaceLimit struct {
	running chan struct{}
	inside  int
}

// enter waits for a place: first of the namespace, then of all. It fails with ErrBusy
// where too many wait, and when ctx ends.
func (r *renderLimit) enter(ctx context.Context, namespace string) (leave func(), err error) {
	own, all, err := r.queue(namespace)
	if err != nil {
		return nil, err
	}
	if err := take(ctx, own.running); err != nil {
		r.leave(namespace, own)
		return nil, err
	}
	if err := take(ctx, all); err != nil {
		<-own.running
		r.leave(namespace, own)
		return nil, err
	}
	return func() {
		<-all
		<-own.running
		r.leave(namespace, own)
	}, nil
}

func take(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *renderLimit) queue(namespace string) (*namespaceLimit, chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.running, r.namespaces = make(chan struct{}, maxRunning), map[string]*namespaceLimit{}
	}
	own := r.namespaces[namespace]
	if own == nil {
		own = &namespaceLimit{running: make(chan struct{}, maxOfNamespace)}
		r.namespaces[namespace] = own
	}
	if own.inside >= maxOfNamespace+maxWaiting {
		return nil, nil, ErrBusy
	}
	own.inside++
	return own, r.running, nil
}

func (r *renderLimit) leave(namespace string, own *namespaceLimit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own.inside--; own.inside == 0 {
		delete(r.namespaces, namespace)
	}
}
