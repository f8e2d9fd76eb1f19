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
)

const (
	// leaseLost is all that controller-runtime says of the one error that is told apart here (pkg/manager, OnStoppedLeading).
	leaseLost = "leader election lost"
	// returnInterval is how often a process that has lost its lease asks whether the API is back, and askTimeout how long one
	// question may take.
	returnInterval = 2 * time.Second
	askTimeout     = 5 * time.Second
)

// errReturned ends a process that lost its lease: controllers cannot be started twice, and what is acted upon has to be
// read anew.
var errReturned = errors.New("the lease was lost while the Kubernetes API did not answer; it answers again, and a new start is needed to act")

// outliving is a part that begins with our turn, as the others do, and ends with the system, not with the turn: it answers
// machines from what is known, and acts on nothing (docs/dev/decisions/012).
func (s *System) outliving(running context.Context, name string, run func(context.Context) error) manager.Runnable {
	return manager.RunnableFunc(func(turn context.Context) error {
		part, ended := named(name, run), make(chan error, 1)
		s.parts.Go(func() { ended <- part.Start(running) })
		select {
		case err := <-ended:
			return err
		case <-turn.Done():
		}
		if running.Err() != nil { // the lease is given back when nothing answers any more
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

// act runs everything that acts until the system stops, a part fails, or the lease is lost and the API back again.
func (s *System) act(running context.Context, mgr ctrl.Manager, direct client.Client) error {
	err := mgr.Start(running)
	if err == nil || running.Err() != nil || err.Error() != leaseLost {
		return err
	}
	s.logger.Info("The Kubernetes API has not answered in time and the lease is lost: nothing acts any more, machines are answered from what is known")
	return s.awaitReturn(running, func(ctx context.Context) error {
		return direct.Get(ctx, client.ObjectKey{Namespace: s.settings.ManagerNamespace, Name: s.leaseName()}, &coordinationv1.Lease{})
	})
}

// awaitReturn asks until the API answers, and says meanwhile at the health address what is the case.
func (s *System) awaitReturn(running context.Context, ask func(context.Context) error) error {
	health := pageServer(stale(), s.logger)
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

// stale is the health of a process that answers from its last view: alive, so that nobody kills what machines boot from, and not
// ready, so that one that knows more is preferred where there is one.
func stale() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the lease is lost: machines are answered from the last view", http.StatusServiceUnavailable)
	})
	return mux
}
