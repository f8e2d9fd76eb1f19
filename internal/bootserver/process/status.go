package process

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream"
)

// status is how this boot server stands. Whoever answers machines reads it without a lock, and it is made anew when something changes.
type status struct {
	clock      clock.PassiveClock
	serveStale time.Duration
	now        atomic.Pointer[standing]
	// connected has a value when there is a manager that there was not.
	connected chan struct{}
}

// standing is one status.
type standing struct {
	bootstream.State
	// revision is the header of answers.
	revision []string
}

func newStatus(c clock.PassiveClock, serveStale time.Duration) *status {
	s := &status{clock: c, serveStale: serveStale, connected: make(chan struct{}, 1)}
	s.now.Store(&standing{revision: revisionOf(bootstream.State{})})
	return s
}

// moved is told by the follower, one change after the other.
func (s *status) moved(state bootstream.State) {
	before := s.now.Load()
	next := &standing{State: state, revision: before.revision}
	if state.Epoch != before.Epoch || state.Counter != before.Counter {
		next.revision = revisionOf(state)
	}
	s.now.Store(next)
	if state.Manager != "" && before.Manager == "" {
		select {
		case s.connected <- struct{}{}:
		default:
		}
	}
}

// revisionOf is EPOCH/COUNTER; without a view there is no epoch.
func revisionOf(state bootstream.State) []string {
	if state.Epoch == "" {
		return []string{"none"}
	}
	return []string{state.Epoch + "/" + strconv.FormatUint(state.Counter, 10)}
}

// revision is the header of answers.
func (s *status) revision() []string { return s.now.Load().revision }

// secretsExpired reports whether no manager was heard for so long that nobody knows whether what is secret is still the machines'.
func (s *status) secretsExpired() bool { return s.clock.Now().After(s.now.Load().SecretsUntil) }

// fresh reports whether a view without a manager is young enough to be used.
func (s *status) fresh() bool {
	heard := s.now.Load().Heard
	return !heard.IsZero() && s.clock.Since(heard) < s.serveStale
}

var (
	errNeverHeard = errors.New("no manager has sent the view yet, and there is none on disk")
	errIncomplete = errors.New("the manager has not sent the whole view yet")
)

// ready says why machines are not to be sent here.
func (s *status) ready() error {
	switch now := s.now.Load(); {
	case now.Manager != "" && now.Synced, s.fresh():
		return nil
	case now.Manager != "":
		return errIncomplete
	case now.Heard.IsZero():
		return errNeverHeard
	default:
		return fmt.Errorf("no manager is there, and the view is of %s: older than --serve-stale=%s", now.Heard.UTC().Format(time.RFC3339), s.serveStale)
	}
}
