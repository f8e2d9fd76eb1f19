package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/leadership"
)

// fieldOwner is who the API says has written a copy, until its own owners are written back.
const fieldOwner = "farrier-move"

// Side is one of the two APIs.
type Side struct {
	client.Client
	Discovery discovery.ServerResourcesInterface
	// Name is how messages call it: its flag and its address.
	Name string
}

// Options say what is moved, and how.
type Options struct {
	Source, Target Side
	// Namespace has Farrier's own objects, at both sides.
	Namespace string
	// DryRun only says what would be moved.
	DryRun bool
	// Pause waits until whoever acted when the Leases were taken has stopped.
	Pause func(context.Context) error
	// Timeout bounds how long a move waits, before it pauses anybody, for machines that are about to boot; zero: it refuses at once.
	Timeout time.Duration
	// Sleep waits between two looks at such machines. It is required with Timeout.
	Sleep func(context.Context, time.Duration) error
	Now   func() time.Time
	// Say tells of one step.
	Say func(format string, args ...any)
}

// Await is Options.Pause for real.
func Await(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error { return Sleep(ctx, d) }
}

// Sleep is Options.Sleep for real.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run moves everything. After an error, and after it was killed, it can be run again.
func Run(ctx context.Context, o Options) error {
	m := &mover{Options: o}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	if o.DryRun {
		return m.describe(ctx)
	}
	if over, err := m.over(ctx); over || err != nil {
		return err
	}
	if err := m.start(ctx); err != nil {
		return err
	}
	if err := m.transfer(ctx); err != nil {
		return fmt.Errorf("%w\nboth sides stay paused: run the command again to go on", err)
	}
	return nil
}

// mover is one run.
type mover struct {
	Options
	kinds []kind
	// sourceID and targetID tell the two sides apart.
	sourceID, targetID string
	// copied says that everything that was at the source has been verified at the target, and that deletions may have begun.
	copied bool
}

// prepare finds out, without a change, whether the move is possible.
func (m *mover) prepare(ctx context.Context) error {
	if err := m.meet(ctx); err != nil {
		return err
	}
	if err := m.checkFilters(ctx); err != nil {
		return err
	}
	return m.checkConflicts(ctx)
}

// meet finds out, without a change, what the two sides are, and whether this run may work on them.
func (m *mover) meet(ctx context.Context) (err error) {
	if err := m.identify(ctx); err != nil {
		return err
	}
	if m.kinds, err = m.findKinds(); err != nil {
		return err
	}
	if err := m.checkRights(ctx); err != nil {
		return err
	}
	return m.checkPauses(ctx)
}

// over reports whether there is nothing to do.
func (m *mover) over(ctx context.Context) (bool, error) {
	s, err := m.read(ctx)
	if err != nil || len(s.moving()) > 0 {
		return false, err
	}
	for _, name := range leaseNames {
		lease, err := m.lease(ctx, m.Target, name)
		if err != nil || lease.Annotations[AnnotationMovedFrom] != "" {
			return false, err
		}
	}
	m.Say("nothing to move")
	return true, nil
}

// start pauses both sides when no machine is about to boot. One that is told to boot while they are being paused is waited for as well.
func (m *mover) start(ctx context.Context) error {
	deadline := m.Now().Add(m.Timeout)
	for {
		lease, err := m.lease(ctx, m.Source, leadership.Lease)
		if err != nil {
			return err
		}
		if !paused(lease) { // by a run that was killed: what boots there gets no further before it is released
			if err := m.awaitIdle(ctx, deadline); err != nil {
				return err
			}
		}
		if err := m.pause(ctx); err != nil {
			return err
		}
		err = m.startable(ctx)
		var busy *busyError
		if !errors.As(err, &busy) || !m.Now().Before(deadline) {
			return err
		}
	}
}

// startable undoes the pause of a move that has not begun yet and cannot begin now.
func (m *mover) startable(ctx context.Context) error {
	begun, err := m.begun(ctx)
	if err != nil || begun {
		return err
	}
	err = m.checkIdle(ctx)
	if err == nil {
		err = m.checkConflicts(ctx)
	}
	if err == nil {
		return nil
	}
	// A deadline that has passed must not keep both sides paused.
	free, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if failed := m.unpauseBoth(free); failed != nil {
		return fmt.Errorf("%w\nboth sides stay paused, because the Leases could not be released: %w", err, failed)
	}
	return err
}

// transfer copies, verifies and deletes until nothing is left at the source, and then lets the target act. What somebody writes at the source meanwhile is
// moved in another round.
func (m *mover) transfer(ctx context.Context) error {
	for {
		s, err := m.read(ctx)
		if err != nil {
			return err
		}
		if len(s.moving()) == 0 {
			break
		}
		if err := m.copyAll(ctx, s); err != nil {
			return err
		}
		if err := m.markCopied(ctx); err != nil {
			return err
		}
		if err := m.removeAll(ctx, s); err != nil {
			return err
		}
	}
	if err := m.unmark(ctx); err != nil {
		return err
	}
	if err := m.unpauseTarget(ctx); err != nil {
		return err
	}
	m.Say("%s acts from now on; %s stays paused", m.Target.Name, m.Source.Name)
	return nil
}
