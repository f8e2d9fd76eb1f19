package reconcileerror

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflictDelay is how long a cache usually needs to hear of a write.
const conflictDelay = 20 * time.Millisecond

// Waiting says that nothing is wrong and that a watch will wake the object
// when On has happened.
type Waiting struct{ On string }

func (w Waiting) Error() string { return "waiting for " + w.On }

// Terminal says that trying again cannot help until a person, or another
// object, changes something that is watched.
type Terminal struct {
	// Reason is a CamelCase constant, fit for a condition.
	Reason string
	Err    error
}

func (t Terminal) Error() string { return t.Err.Error() }

func (t Terminal) Unwrap() error { return t.Err }

// Paused says that it is too early to try again: whatever was to be done waits for For.
type Paused struct {
	For time.Duration
	Err error
}

func (p Paused) Error() string { return p.Err.Error() }

func (p Paused) Unwrap() error { return p.Err }

// Terminalf makes a Terminal of a format.
func Terminalf(reason, format string, args ...any) Terminal {
	return Terminal{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// IsTransient says whether err may go away by trying again.
func IsTransient(err error) bool {
	var terminal Terminal
	return err != nil && !errors.As(err, &terminal)
}

// Transient is err if trying again may help, and nil where it is said in a condition instead.
func Transient(err error) error {
	if IsTransient(err) {
		return err
	}
	return nil
}

// Handle turns the error of a reconcile into what controller-runtime shall do.
// A write that lost a race is repeated at once and quietly: the cache is
// about to deliver what it collided with. What cannot be made because its
// namespace is on its way out is not tried again: whatever wanted it goes too.
func Handle(ctx context.Context, result reconcile.Result, err error) (reconcile.Result, error) {
	var waiting Waiting
	var terminal Terminal
	var paused Paused
	switch {
	case err == nil:
		return result, nil
	case errors.As(err, &paused):
		log.FromContext(ctx).V(1).Info("reconcile paused", "retryAfter", paused.For, "error", paused)
		return reconcile.Result{RequeueAfter: paused.For}, nil
	case errors.As(err, &waiting):
		log.FromContext(ctx).V(1).Info("reconcile waits", "message", waiting.On)
		return result, nil
	case errors.As(err, &terminal):
		log.FromContext(ctx).Info("reconcile failed, waiting for a change", "reason", terminal.Reason, "error", terminal)
		return result, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		log.FromContext(ctx).V(1).Info("namespace is being deleted", "error", err)
		return result, nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	return result, err
}
