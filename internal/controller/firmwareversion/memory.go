package firmwareversion

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/farrier-dev/farrier/internal/fleet"
)

// memories keep what jobs have found, by object. They are lost with the process, and nothing is lost with them: it is read again.
type memories struct {
	mu sync.Mutex
	by map[types.UID]*memory
	n  int
}

type memory struct {
	job    string // under way, with what it finds
	coming *look
	last   *look
}

// take looks what became of the job under way.
func (m *memories) take(uid types.UID, f *fleet.Fleet, key fleet.Key) (last *look, busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.by[uid]
	if o == nil {
		return nil, false
	}
	if o.job != "" {
		status, known := f.Command(key, o.job)
		switch {
		case known && !status.State.Ended():
			return o.last, true
		case known:
			if o.coming.err = status.Err; o.coming.err == nil && status.State != fleet.Succeeded {
				o.coming.err = fmt.Errorf("the job was %s", status.State)
			}
			o.last = o.coming
		default: // the actor is another one; whether its job has sent anything is not known
			l := o.coming // the job may write to it still
			o.last = &look{begun: l.begun, asked: l.asked, of: l.of, start: l.start, sent: l.start, err: errLost}
		}
		o.job, o.coming = "", nil
	}
	return o.last, false
}

// begin notes a job and gives it an ID that no other has.
func (m *memories) begin(uid types.UID, l *look, now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[types.UID]*memory{}
	}
	if m.by[uid] == nil {
		m.by[uid] = &memory{}
	}
	m.n++
	o := m.by[uid]
	o.coming, o.job = l, fmt.Sprintf("%s/firmware/%d-%d", uid, now.UnixNano(), m.n)
	return o.job
}

func (m *memories) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, uid)
}
