package bmcuser

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/farrier-dev/farrier/internal/controller/rotation"
	"github.com/farrier-dev/farrier/internal/fleet"
)

var errLost = errors.New("the result is unknown")

// looks keep what jobs have read of accounts, and the removals under way, by object. They are lost with the process, and nothing is
// lost with them: it is read again.
type looks struct {
	mu sync.Mutex
	by map[types.UID]*memory
	n  int
}

type memory struct {
	job    string // under way, with what it finds
	other  *rotation.Other
	begun  time.Time
	last   *look
	err    error // of the last job
	failed int
}

// take looks what became of the job under way.
func (l *looks) take(uid types.UID, f *fleet.Fleet, key fleet.Key) (last *look, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.by[uid]
	if m == nil {
		return nil, false
	}
	if m.job == "" {
		return m.last, false
	}
	status, known := f.Command(key, m.job)
	if known && !status.State.Ended() {
		return m.last, true
	}
	m.job, m.err = "", status.Err
	switch {
	case known && status.State == fleet.Succeeded:
		m.failed = 0
		m.last = &look{at: m.begun, found: m.other.Existed, account: m.other.Account}
		return m.last, false
	case !known: // the actor is another one, and its job is lost
		m.err = errLost
	case m.err == nil:
		m.err = fmt.Errorf("the job was %s", status.State)
	}
	m.failed++
	return m.last, false
}

// begin notes a job and gives it an ID that no other has.
func (l *looks) begin(uid types.UID, other *rotation.Other, now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[types.UID]*memory{}
	}
	if l.by[uid] == nil {
		l.by[uid] = &memory{}
	}
	l.n++
	m := l.by[uid]
	m.other, m.begun, m.job = other, now, fmt.Sprintf("%s/user/%d-%d", uid, now.UnixNano(), l.n)
	return m.job
}

// result is when the last job began, how many have failed in a row, and how it ended.
func (l *looks) result(uid types.UID) (begun time.Time, failed int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.by[uid]; m != nil {
		return m.begun, m.failed, m.err
	}
	return time.Time{}, 0, nil
}

func (l *looks) set(uid types.UID, last *look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[types.UID]*memory{}
	}
	l.by[uid] = &memory{last: last}
}

func (l *looks) forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.by, uid)
}
