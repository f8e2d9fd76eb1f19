package bmc

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/rotation"
)

// failedDefaults is when a rotation failed that nobody asked for. Another process tries once more.
type failedDefaults struct {
	mu sync.Mutex
	at map[types.UID]time.Time
}

func (f *failedDefaults) set(uid types.UID, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at == nil {
		f.at = map[types.UID]time.Time{}
	}
	f.at[uid] = at
}

func (f *failedDefaults) of(uid types.UID) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at[uid]
}

func (f *failedDefaults) forget(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.at, uid)
}

// rotateDefaults begins the rotation of default credentials that the BMC accepts, where that is wanted, and an hour after one failed.
// It reports whether it has begun one, whose write wakes the BMC again.
func (r *Reconciler) rotateDefaults(ctx context.Context, s *scope) (bool, error) {
	accepted := s.login.trial != nil && s.login.trial.Outcome == bmcsecret.Accepted
	answered := s.observation.Sequence > 0 && s.observation.Err == nil
	_, busy := s.obj.Annotations[metalv1.AnnotationOperationStarted]
	if !r.RotateDefaults || !accepted || !answered || busy || s.unresolved != nil || s.overriddenBy != "" {
		return false, nil
	}
	if failed := r.defaultsFailed.of(s.obj.UID); !failed.IsZero() {
		if wait := failed.Add(rotation.Rest).Sub(r.Clock.Now()); wait > 0 {
			s.again(wait)
			return false, nil
		}
	}
	// What fails is known by the next attempt: a rotation that succeeds leaves no default credentials.
	r.defaultsFailed.set(s.obj.UID, r.Clock.Now())
	if err := r.beginRotation(ctx, s.obj); err != nil {
		r.defaultsFailed.forget(s.obj.UID)
		return false, err
	}
	r.event(s.obj, corev1.EventTypeNormal, metalv1.ReasonReplacingDefaults, "The BMC accepts default credentials of its vendor. Replacing the password")
	return true, nil
}
