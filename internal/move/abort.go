package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// annotationFound is on a copy that somebody else had made, as it is at the source: it stays when a move is given up.
const annotationFound = "farrier.dev/move-found"

// ErrTooLate is wrapped by the error about a move that can only go on: originals may be gone.
var ErrTooLate = errors.New("too late to give up")

// Abort gives up a move that has not deleted anything at the source: it takes back the copies, and lets both sides act as before. After an error, and after
// it was killed, it can be run again.
func Abort(ctx context.Context, o Options) error {
	m := &mover{Options: o}
	if err := m.meet(ctx); err != nil {
		return err
	}
	if m.copied {
		return fmt.Errorf("%w: everything has been copied, and originals may be deleted; run the command without --abort to go on", ErrTooLate)
	}
	// A run that was killed may have paused one side only.
	if err := m.pause(ctx); err != nil {
		return err
	}
	if err := m.takeBack(ctx); err != nil {
		return fmt.Errorf("%w\nboth sides stay paused: run the command again", err)
	}
	if err := m.unpauseBoth(ctx); err != nil {
		return err
	}
	m.Say("given up: both sides act as before")
	return nil
}

// takeBack deletes the copies at the target, without their finalizers, which are for managers that act.
func (m *mover) takeBack(ctx context.Context) error {
	var all []*object
	for _, k := range m.kinds {
		objects, err := list(ctx, m.Target, k)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if annotations := o.GetAnnotations(); annotations[AnnotationMovedFrom] != "" && annotations[annotationFound] == "" {
				all = append(all, o)
			}
		}
	}
	for _, o := range slices.Backward(sorted(all)) {
		if err := remove(ctx, m.Target, o); err != nil {
			return fmt.Errorf("%s: delete %s: %w", m.Target.Name, o, err)
		}
	}
	m.Say("deleted %d copies at the target", len(all))
	return m.unmark(ctx)
}
