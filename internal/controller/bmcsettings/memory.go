package bmcsettings

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/farrier-dev/farrier/internal/fleet"
)

// memories keep what jobs have found and what variables were read from, by object. They are lost with the process, and nothing is
// lost with them: it is read again.
type memories struct {
	mu sync.Mutex
	by map[types.UID]*memory
	n  int
}

type memory struct {
	name   string
	job    string // under way, with what it finds
	coming *look
	last   *look

	mu   sync.Mutex
	used []source
	read map[place]content
}

// place is a key of an object, content what it held at which version of the object.
type (
	place struct {
		of  source
		key string
	}
	content struct {
		// version is that of a Secret, at is when a ConfigMap was read.
		version string
		at      time.Time
		value   text
	}
)

// of is the memory of an object.
func (m *memories) of(uid types.UID, name string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[types.UID]*memory{}
	}
	if m.by[uid] == nil {
		m.by[uid] = &memory{name: name, read: map[place]content{}}
	}
	return m.by[uid]
}

// take looks what became of the job under way.
func (m *memories) take(o *memory, f *fleet.Fleet, key fleet.Key) (last *look, busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
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
		}
		o.job, o.coming = "", nil // unknown: the actor is another one, and its job is lost
	}
	return o.last, false
}

// begin notes a job and gives it an ID that no other has.
func (m *memories) begin(uid types.UID, o *memory, l *look, now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	o.coming, o.job = l, fmt.Sprintf("%s/bmc-settings/%d-%d", uid, now.UnixNano(), m.n)
	return o.job
}

func (m *memories) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, uid)
}

// usersOf names the objects that have looked for a variable at a source, whether it was there or not.
func (m *memories) usersOf(of source) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.by {
		if o.uses(of) {
			names = append(names, o.name)
		}
	}
	slices.Sort(names)
	return names
}

func (o *memory) uses(of source) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.used, of)
}

// using notes what the variables of an object come from, and forgets what they came from before.
func (o *memory) using(used []source) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.used = used
	for at := range o.read {
		if !slices.Contains(used, at.of) {
			delete(o.read, at)
		}
	}
}

func (o *memory) kept(of source, key string) (content, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, known := o.read[place{of, key}]
	return c, known
}

func (o *memory) keep(of source, key string, c content) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read[place{of, key}] = c
}
