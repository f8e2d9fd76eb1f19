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

// conflictDelay is how long a cache usually needs until it shows a write.
const conflictDelay = 20 * time.Millisecond

// Waiting means that nothing is wrong and that a watch triggers the object
// when On has happened.
type Waiting struct{ On string }

func (w Waiting) Error() string { return "waiting for " + w.On }

// Terminal means that a retry cannot help until a person, or another controller, changes something that is watched.
type Terminal struct {
	// Reason is a CamelCase constant, fit for a condition.
	Reason string
	Err    error
}

func (t Terminal) Error() string { return t.Err.Error() }

func (t Terminal) Unwrap() error { return t.Err }

// Paused means that it is too early to try again: the reconcile is repeated after For.
type Paused struct {
	For time.Duration
	Err error
}

func (p Paused) Error() string { return p.Err.Error() }

func (p Paused) Unwrap() error { return p.Err }

// Terminalf returns a Terminal with a formatted error.
func Terminalf(reason, format string, args ...any) Terminal {
	return Terminal{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// IsTransient reports whether a retry may help.
func IsTransient(err error) bool {
	var terminal Terminal
	return err != nil && !errors.As(err, &terminal)
}

// Transient returns err if a retry may help, and nil if a condition reports it instead.
func Transient(err error) error {
	if IsTransient(err) {
		return err
	}
	return nil
}

// Handle translates the error of a reconcile for controller-runtime.
// It repeats a write that had a conflict soon and without a log line: the cache is
// about to show the other write. It does not repeat a write into a namespace that
// is being deleted: the object that needs it is deleted too. What the end of the controller has cut short is nothing to tell of: whoever follows
// begins anew.
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
		log.FromContext(ctx).V(1).Info("reconcile failed, waiting for a change", "reason", terminal.Reason, "error", terminal)
		return result, nil
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return reconcile.Result{}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		log.FromContext(ctx).V(1).Info("namespace is being deleted", "error", err)
		return result, nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	return result, err
}
