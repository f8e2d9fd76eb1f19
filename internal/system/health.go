package system

import (
	"context"
	"errors"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// errCaches is what /readyz says until everything that exists has been read once.
var errCaches = errors.New("the caches are not full yet")

// addHealth answers /healthz and /readyz. A process that stands by is ready too: it has the caches, and could take
// over at once.
func (s *System) addHealth(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	err := mgr.AddReadyzCheck("caches", func(*http.Request) error {
		select {
		case <-s.synced:
			return nil
		default:
			return errCaches
		}
	})
	if err != nil {
		return err
	}
	return mgr.Add(syncing{s})
}

// syncing notes when the caches are full. controller-runtime starts it when they are, whoever's turn it is.
type syncing struct{ *System }

func (s syncing) Start(context.Context) error {
	close(s.synced)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (syncing) NeedLeaderElection() bool { return false }
