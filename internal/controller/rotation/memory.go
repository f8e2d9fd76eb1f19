package rotation

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Memory has the rotations that this process takes part in, by the UID of the object that they are for.
type Memory struct {
	mu    sync.Mutex
	begun map[types.UID]Rotation
}

// Of returns the rotation that was started so, as this process knows it.
func (m *Memory) Of(uid types.UID, started string, now time.Time) Rotation {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.begun[uid]; ok && p.Started == started {
		return p
	}
	return Rotation{Started: started, Since: now}
}

// Set keeps a rotation.
func (m *Memory) Set(uid types.UID, p Rotation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun == nil {
		m.begun = map[types.UID]Rotation{}
	}
	m.begun[uid] = p
}

// AskAnew has the BMC asked as a process asks it that has just started.
func (m *Memory) AskAnew(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.begun[uid]; ok {
		p.Noted, p.OldRefused, p.NextRefused = false, false, false
		m.begun[uid] = p
	}
}

// Forget drops what is known of an object's rotation.
func (m *Memory) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.begun, uid)
}
