package system

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// lookedAt is a Lease that a process which is alone looks at.
type lookedAt struct {
	paused, away, hangs atomic.Bool
	terms               atomic.Int32
	acts                atomic.Bool
	told                atomic.Bool
}

func (l *lookedAt) alone() *alone {
	return &alone{
		look: func(ctx context.Context) (bool, error) {
			if l.hangs.Load() {
				_ = sleep(ctx, renewDeadline/2) // newAlone
				return false, errors.New("no answer")
			}
			if l.away.Load() {
				return false, errors.New("away")
			}
			return l.paused.Load(), nil
		},
		logger: logr.Discard(), pausing: func() { l.told.Store(true) },
		term: func(ctx context.Context) error {
			l.terms.Add(1)
			l.acts.Store(true)
			<-ctx.Done()
			l.acts.Store(false)
			return nil
		},
	}
}

// TestAloneStopsForAPause: a process without others acts until it is paused, has stopped when a Lease would have run out, and goes on afterwards.
func TestAloneStopsForAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lookedAt
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.alone().run(ctx) }()
		after(leaseDuration)
		if !l.acts.Load() || l.terms.Load() != 1 || l.told.Load() {
			t.Fatalf("it acts: %t, in term %d", l.acts.Load(), l.terms.Load())
		}
		l.paused.Store(true)
		after(leaseDuration)
		if l.acts.Load() || !l.told.Load() {
			t.Error("it acts during a pause")
		}
		after(100 * leaseDuration)
		if l.acts.Load() {
			t.Error("a pause has ended by itself")
		}
		l.paused.Store(false)
		after(leaseDuration)
		if !l.acts.Load() || l.terms.Load() != 2 {
			t.Errorf("it acts after the pause: %t, in term %d", l.acts.Load(), l.terms.Load())
		}
		end()
		<-ended
	})
}

// TestAloneCannotLook: what cannot be found out for a moment changes nothing; for longer, it counts as a pause.
func TestAloneCannotLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lookedAt
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.alone().run(ctx) }()
		after(leaseDuration)
		l.away.Store(true)
		after(renewDeadline / 2)
		l.away.Store(false)
		after(leaseDuration)
		if l.terms.Load() != 1 {
			t.Errorf("a short outage ended the term: %d", l.terms.Load())
		}
		l.away.Store(true)
		after(leaseDuration)
		if l.acts.Load() {
			t.Error("it acts, and does not know whether it may")
		}
		l.away.Store(false)
		after(leaseDuration)
		if !l.acts.Load() {
			t.Error("it does not act again")
		}
		end()
		<-ended
	})
}

// TestAloneStopsInTimeWhateverTheAPIDoes: from the last look that found no pause to the end of the term it takes no longer than from the last renewal of a
// Lease, also where each further look takes as long as it may.
func TestAloneStopsInTimeWhateverTheAPIDoes(t *testing.T) {
	for name, trouble := range map[string]func(*lookedAt){
		"refuses": func(l *lookedAt) { l.away.Store(true) },
		"hangs":   func(l *lookedAt) { l.hangs.Store(true) },
	} {
		for begins := range 10 {
			synctest.Test(t, func(t *testing.T) {
				var l lookedAt
				ctx, end := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- l.alone().run(ctx) }()
				after(leaseDuration + time.Duration(begins)*retryPeriod/10)
				trouble(&l)
				after(renewDeadline)
				if l.acts.Load() {
					t.Errorf("the API %s: it still acts %s later", name, renewDeadline)
				}
				end()
				<-ended
			})
		}
	}
}
