package system

import (
	"context"
	"errors"
	"net/http"
)

// errCaches is what /readyz says until everything that exists has been read once.
var errCaches = errors.New("the caches are not full yet")

// cachesFull is the check of /readyz.
func (s *System) cachesFull(*http.Request) error {
	select {
	case <-s.synced:
		return nil
	default:
		return errCaches
	}
}

// syncing notes when the caches are full. controller-runtime starts it when they are, whoever's turn it is.
type syncing struct{ *System }

func (s syncing) Start(context.Context) error {
	close(s.synced)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (syncing) NeedLeaderElection() bool { return false }
