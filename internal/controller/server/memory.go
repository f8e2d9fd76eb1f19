package server

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// begun remembers which resets this process has begun. One that an annotation tells of and that is not
// here was begun by a process that is no more: nobody knows what became of it.
type begun struct {
	mu sync.Mutex
	by map[types.UID]string
}

func (b *begun) set(uid types.UID, started string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by == nil {
		b.by = map[types.UID]string{}
	}
	if delete(b.by, uid); started != "" {
		b.by[uid] = started
	}
}

func (b *begun) is(uid types.UID, started string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.by[uid] == started
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

// foreigners remembers what was found out, so that news of a BMC are no requests to the API.
type foreigners struct {
	mu sync.Mutex
	by map[string]foreignOf
}

type foreignOf struct {
	ref   metalv1.ObjectReference
	found foreign
}

func (f *foreigners) of(server string, ref metalv1.ObjectReference, now time.Time) (foreign, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, known := f.by[server]
	fresh := known && last.ref == ref && now.Before(last.found.looked.Add(foreignRepeat)) && !now.Before(last.found.looked)
	return last.found, fresh
}

func (f *foreigners) note(server string, ref metalv1.ObjectReference, found foreign) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]foreignOf{}
	}
	f.by[server] = foreignOf{ref, found}
}

func (f *foreigners) forget(server string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.by, server)
}
