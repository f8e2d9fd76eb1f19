package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// minTurns is how many turns there are at a time, at least, in a process that is busy.
	minTurns = 128
	// anyTurns is a limit that no fleet reaches.
	anyTurns = 1 << 24
)

// turnLimiter bounds how many actors are in a turn at a time while this process has more to do than it can. Each of them wants a processor as soon as
// its BMC has answered, and whatever else there is to do waits for all of them: with a thousand, seconds for each step, which is too long to renew a
// Lease. More turns at a time would not make one of them end sooner.
//
// While this process has time, there is no limit. A turn counts for patience at most, so BMCs that hang delay others only briefly.
type turnLimiter struct {
	gate
	clock clock.Clock
	busy  func() bool // reports whether this process has more to do than it can
	at    time.Time   // when busy was asked last; guarded by gate.mu
}

func newTurnLimiter(c clock.Clock, busy func() bool) *turnLimiter {
	return &turnLimiter{gate: gate{limit: anyTurns}, clock: c, busy: busy, at: c.Now()}
}

// enter waits until there is room for another turn. It does not wait, or no longer, when ctx ends, or when the turn is urgent; that may change when
// woken holds something. The caller calls leave once or more often.
func (l *turnLimiter) enter(ctx context.Context, urgent func() bool, woken <-chan struct{}) (leave func()) {
	l.adapt()
	if urgent() {
		return func() {}
	}
	p := l.join()
	leave = sync.OnceFunc(func() {
		l.adapt()
		l.leave(p)
	})
	for {
		select {
		case <-p.admitted:
			return leave
		case <-woken: // what has come is read in the turn
			if !urgent() {
				continue
			}
		case <-ctx.Done():
		}
		leave()
		return leave
	}
}

// adapt changes the limit, if it has been some time.
func (l *turnLimiter) adapt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if now.Sub(l.at) < busyInterval {
		return
	}
	l.at = now
	l.resizeLocked(turnsAtATime(l.limit, l.in, l.busy()))
}

// turnsAtATime is the next limit, where there is one and so many turns are under way: less and less while this process is busy, and soon none when it
// no longer is.
func turnsAtATime(limit, in int, busy bool) int {
	if busy {
		return max(minTurns, min(limit, in)*3/4)
	}
	return min(limit*2, anyTurns)
}

// awaitRoom waits for the limit of turns, unless this turn has a command to carry out, or only looks whether the BMC may be asked again.
func (a *actor) awaitRoom(ctx context.Context) (leave func()) {
	if a.options.Clock.Now().Before(a.schedule.notBefore) {
		return func() {}
	}
	return a.fleet.turns.enter(ctx, a.ordered, a.woken)
}

// ordered reports whether there are commands to carry out.
func (a *actor) ordered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.inbox) > 0 || len(a.commands) > 0
}

// apart runs do in a goroutine of its own, and waits for it: a turn needs a stack of 8 KiB or more for TLS and JSON, which an actor that sleeps for
// minutes would keep. It leaves the limit of turns when do has returned, or after patience.
func (a *actor) apart(do func() time.Time, leave func()) time.Time {
	answer := make(chan time.Time, 1)
	go func() { answer <- do() }()
	timer := a.options.Clock.NewTimer(patience)
	defer timer.Stop()
	defer leave()
	select {
	case next := <-answer:
		return next
	case <-timer.C():
		leave()
		return <-answer
	}
}
