package leadership

import (
	"context"
	"sync"

	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// refused is what a write outside of a term gets.
var refused = reconcileerror.Waiting{On: "leadership, which another process has"}

// Leadership says whether this process acts, and who does. It is safe for concurrent use. The zero value does not lead.
type Leadership struct {
	mu      sync.Mutex
	term    context.Context // nil: there is none
	leader  string
	changed chan struct{}
	writes  sync.WaitGroup
}

// Begin begins a term, which ends with its context at the latest.
func (l *Leadership) Begin(term context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term = term
	l.announce()
}

// End ends the term. It returns when the last write of [Leadership.Client] has come to its end.
func (l *Leadership) End() {
	l.mu.Lock()
	l.term = nil
	l.announce()
	l.mu.Unlock()
	l.writes.Wait()
}

// Leads reports whether this process acts now.
func (l *Leadership) Leads() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leads()
}

func (l *Leadership) leads() bool { return l.term != nil && l.term.Err() == nil }

// SetLeader notes where the leader, as the Lease names it, serves the boot stream; empty: nobody leads, or it serves none.
func (l *Leadership) SetLeader(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leader != address {
		l.leader = address
		l.announce()
	}
}

// Leader returns where the leader serves the boot stream; empty: that is not known.
func (l *Leadership) Leader() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leader
}

// Changed returns a channel that is closed when a term has begun or ended, or the leader is at another address. Get it before you ask.
func (l *Leadership) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// announce closes what Changed has returned. The caller holds mu.
func (l *Leadership) announce() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// write carries out a write of a term, which the end of the term cuts short.
func (l *Leadership) write(ctx context.Context, do func(context.Context) error) error {
	l.mu.Lock()
	term, leads := l.term, l.leads()
	if leads {
		l.writes.Add(1) // under mu: End waits for all of its term
	}
	l.mu.Unlock()
	if !leads {
		return refused
	}
	defer l.writes.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(term, cancel)()
	return do(ctx)
}
