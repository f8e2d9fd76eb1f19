package system

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/farrier-dev/farrier/internal/controller/leadership"
)

// alone runs the terms of a process that takes turns with nobody. It acts all the time, unless somebody has paused the installation: whoever does, takes
// the Lease in the name leadership.Pause. This process holds none, so it looks.
//
// A pause counts as in an election: the term has ended leaseDuration after the Lease was taken, or after the last look that found it free.
type alone struct {
	look   func(context.Context) (paused bool, err error)
	logger logr.Logger
	// term acts until its context ends, and returns when all of it has ended.
	term func(context.Context) error
	// pausing is called when a look has found the installation paused.
	pausing func()
}

// newTurns makes what says when this process acts.
func (s *System) newTurns(config *rest.Config) (err error) {
	if !s.settings.LeaderElection {
		s.alone, err = s.newAlone(config)
		return err
	}
	leases, err := newLeases(config)
	if err != nil {
		return err
	}
	identity, err := newIdentity()
	if err != nil {
		return err
	}
	s.election = &election{
		lock: s.newLock(leases, identity), term: s.runTerm, lost: func() { s.logger.Info("lost lease: controllers stopped, serving the last boot view") },
	}
	if !s.settings.foreignLifecycle { // who only delivers boots has no BMCs that could be divided
		s.undivided = &undivided{leases: leases.Leases(s.settings.ManagerNamespace), named: s.settings.filter.Named, logger: s.logger}
	}
	if s.settings.Shards > 0 {
		s.sharding = s.newSharding(leases, identity)
	}
	return nil
}

// newAlone looks at the Lease over that API.
func (s *System) newAlone(config *rest.Config) (*alone, error) {
	api, err := newLeases(config)
	if err != nil {
		return nil, err
	}
	leases := api.Leases(s.settings.ManagerNamespace)
	return &alone{
		look: func(ctx context.Context) (bool, error) {
			lease, err := leases.Get(ctx, s.leaseName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil && pausedBy(lease), err
		},
		logger: s.logger, term: s.runTerm, pausing: func() { s.pauseOnce.Do(func() { close(s.paused) }) },
	}, nil
}

// pausedBy reports whether a Lease says that nobody may act.
func pausedBy(lease *coordinationv1.Lease) bool {
	return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == leadership.Pause
}

// run runs terms until ctx ends or a term fails.
func (a *alone) run(ctx context.Context) error {
	for {
		if err := a.awaitTurn(ctx); err != nil {
			return err
		}
		term, end := context.WithCancel(ctx)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			defer end()
			a.follow(term)
		}()
		err := a.term(term)
		end()
		<-watched
		if err != nil || ctx.Err() != nil {
			return err
		}
		a.logger.Info("controllers stopped, serving the last boot view")
	}
}

// awaitTurn returns when a look finds the installation not paused.
func (a *alone) awaitTurn(ctx context.Context) error {
	told := false
	for {
		paused, err := a.look(ctx)
		if err == nil && !paused {
			return nil
		}
		if err == nil {
			a.pausing()
			if !told {
				a.logger.Info("paused by the Lease: nothing is done until it is released")
				told = true
			}
		}
		if err := sleep(ctx, retryPeriod); err != nil {
			return err
		}
	}
}

// follow returns when the installation is paused, when that cannot be found out for as long as an election would try, or when ctx ends.
func (a *alone) follow(ctx context.Context) {
	known := time.Now()
	for sleep(ctx, min(retryPeriod, time.Until(known.Add(renewDeadline)))) == nil {
		looked := time.Now()
		looking, cancel := context.WithDeadline(ctx, known.Add(renewDeadline))
		paused, err := a.look(looking)
		cancel()
		switch {
		case paused:
			return
		case err == nil:
			known = looked
		case time.Since(known) >= renewDeadline:
			a.logger.Info("the Lease cannot be read, so this process may be paused", "error", err)
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isPaused reports whether this process, which is alone, has found that it may not act.
func (s *System) isPaused() bool { return closed(s.paused) }
