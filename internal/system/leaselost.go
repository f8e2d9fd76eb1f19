package system

import (
	"context"
	"errors"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/farrier-dev/farrier/internal/inbound/pages"
)

const (
	// leaseLost is the whole text of controller-runtime's error for a lost lease (pkg/manager, OnStoppedLeading). The error has
	// no type, so its text tells it apart.
	leaseLost = "leader election lost"
	// returnInterval is how often a process without its lease asks whether the API answers again, and askTimeout bounds one
	// request.
	returnInterval = 2 * time.Second
	askTimeout     = 5 * time.Second
)

// errReturned ends a process that lost its lease once the API answers again: controllers cannot be started twice, and the caches
// have to be filled anew.
var errReturned = errors.New("lost the lease while the Kubernetes API did not answer; it answers again, so restart to resume control")

// untilStop is a runnable that starts with leadership, like the others, but runs until the system stops: it keeps answering
// machines from what is known and changes nothing (docs/dev/decisions/012).
func (s *System) untilStop(running context.Context, name string, run func(context.Context) error) manager.Runnable {
	return manager.RunnableFunc(func(turn context.Context) error {
		part, ended := named(name, run), make(chan error, 1)
		s.parts.Go(func() { ended <- part.Start(running) })
		select {
		case err := <-ended:
			return err
		case <-turn.Done():
		}
		if running.Err() != nil { // the lease is released after the last answer
			return <-ended
		}
		s.parts.Go(func() {
			if err := <-ended; err != nil {
				s.failed <- err
			}
		})
		return nil
	})
}

// act runs the controllers until the system stops, a part fails, or the lease is lost and the API answers again.
func (s *System) act(running context.Context, mgr ctrl.Manager, direct client.Client) error {
	err := mgr.Start(running)
	if err == nil || running.Err() != nil || err.Error() != leaseLost {
		return err
	}
	s.logger.Info("lost lease: controllers stopped, serving the last boot view")
	return s.awaitReturn(running, func(ctx context.Context) error {
		return direct.Get(ctx, client.ObjectKey{Namespace: s.settings.ManagerNamespace, Name: s.leaseName()}, &coordinationv1.Lease{})
	})
}

// awaitReturn waits until the API answers. Meanwhile it serves the state of the process at the health address.
func (s *System) awaitReturn(running context.Context, ask func(context.Context) error) error {
	health := pages.Server(stale(), s.logger)
	defer func() { _ = health.Close() }()
	serving := s.settings.HealthAddress == ""
	tick := time.NewTicker(returnInterval)
	defer tick.Stop()
	for {
		if !serving {
			// The controllers' own listener may take a moment to close.
			if l, err := s.takesOperators("health-address", s.settings.HealthAddress, false); err == nil {
				serving = true
				s.parts.Go(func() { _ = health.Serve(l) })
			}
		}
		select {
		case <-running.Done():
			return running.Err()
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(running, askTimeout)
		err := ask(ctx)
		cancel()
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return errReturned
		}
	}
}

// stale is the health of a process that answers from its last view: alive, so that nothing kills it while machines boot from it,
// and not ready, so that a replica with a newer view is preferred.
func stale() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "lost lease: serving the last boot view", http.StatusServiceUnavailable)
	})
	return mux
}
