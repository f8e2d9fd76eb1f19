package bmcuser

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/farrier-dev/farrier/internal/controller/rotation"
)

// others are the jobs of rotations, by object.
type others struct {
	mu sync.Mutex
	by map[types.UID]*rotation.Other
}

func (o *others) of(uid types.UID) (*rotation.Other, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	other, ok := o.by[uid]
	return other, ok
}

func (o *others) set(uid types.UID, other *rotation.Other) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[types.UID]*rotation.Other{}
	}
	o.by[uid] = other
}

func (o *others) forget(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.by, uid)
}

// removals are the objects whose last job is the removal of their account.
type removals struct {
	mu sync.Mutex
	by map[types.UID]bool
}

func (m *removals) begin(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[types.UID]bool{}
	}
	m.by[uid] = true
}

func (m *removals) ended(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.by[uid]
}

func (m *removals) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, uid)
}
