package server

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// marks remembers one word for each server, by UID, for as long as the process lives. Its zero value is ready.
type marks struct {
	mu sync.Mutex
	by map[types.UID]string
}

// set remembers a mark; an empty one is forgotten.
func (m *marks) set(uid types.UID, mark string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[types.UID]string{}
	}
	if delete(m.by, uid); mark != "" {
		m.by[uid] = mark
	}
}

func (m *marks) get(uid types.UID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.by[uid]
}

// begun is the set of servers for which something was done: the boot of a probe was prepared, or they have left Initial. It is
// lost with the process, which costs them no more than their place in the queue.
type begun struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func (b *begun) add(server string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.names == nil {
		b.names = map[string]struct{}{}
	}
	b.names[server] = struct{}{}
}

func (b *begun) forget(server string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.names, server)
}

func (b *begun) has(server string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, has := b.names[server]
	return has
}

// lookups remembers which foreign maintenance was found for a reference, so that an observation of a BMC costs no request to the
// API.
type lookups struct {
	mu sync.Mutex
	by map[string]lookup
}

type lookup struct {
	ref   metalv1.ObjectReference
	found foreign
}

func (l *lookups) get(server string, ref metalv1.ObjectReference, now time.Time) (found foreign, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.by[server]
	fresh = known && last.ref == ref && now.Before(last.found.looked.Add(foreignRepeat)) && !now.Before(last.found.looked)
	return last.found, fresh
}

func (l *lookups) set(server string, ref metalv1.ObjectReference, found foreign) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[string]lookup{}
	}
	l.by[server] = lookup{ref, found}
}

func (l *lookups) forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.by, server)
}
