package profile

import (
	"context"
	"sync"
)

// How many scripts that decide or call functions are rendered at a time. All together they take
// maxRunning * MaxRendering = 11 MiB of memory.
const (
	maxRunning = 16
	// maxOfNamespace is how many may be of one namespace, so that no tenant has all turns, and maxWaiting how many of it may wait. A
	// rendering takes microseconds, at most milliseconds, so whoever comes beyond these is one of a flood.
	maxOfNamespace = 4
	maxWaiting     = 256
)

// turns lets a few scripts be rendered at a time. The zero value is usable.
type turns struct {
	mu         sync.Mutex
	running    chan struct{}
	namespaces map[string]*line
}

// line is who is in it of one namespace. It exists while somebody is.
type line struct {
	running chan struct{}
	inside  int
}

// enter waits for a turn: first among those of the namespace, then among those of others that got as far. It fails with ErrBusy
// where too many wait, and when ctx ends.
func (t *turns) enter(ctx context.Context, namespace string) (leave func(), err error) {
	l, all, err := t.queue(namespace)
	if err != nil {
		return nil, err
	}
	if err := take(ctx, l.running); err != nil {
		t.leave(namespace, l)
		return nil, err
	}
	if err := take(ctx, all); err != nil {
		<-l.running
		t.leave(namespace, l)
		return nil, err
	}
	return func() {
		<-all
		<-l.running
		t.leave(namespace, l)
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

func (t *turns) queue(namespace string) (*line, chan struct{}, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running, t.namespaces = make(chan struct{}, maxRunning), map[string]*line{}
	}
	l := t.namespaces[namespace]
	if l == nil {
		l = &line{running: make(chan struct{}, maxOfNamespace)}
		t.namespaces[namespace] = l
	}
	if l.inside >= maxOfNamespace+maxWaiting {
		return nil, nil, ErrBusy
	}
	l.inside++
	return l, t.running, nil
}

func (t *turns) leave(namespace string, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.inside--; l.inside == 0 {
		delete(t.namespaces, namespace)
	}
}
