package rolloutpolicy

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
)

// act writes permits, each only if nobody wrote its object in between: otherwise it is decided again.
func (r *Reconciler) act(ctx context.Context, p plan) error {
	var errs []error
	for _, w := range p.permits {
		if err := r.write(ctx, w); err != nil {
			errs = append(errs, fmt.Errorf("write the permit of %s %q: %w", w.kind, w.child.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

func (r *Reconciler) write(ctx context.Context, w write) error {
	to := w.child.DeepCopyObject().(client.Object)
	rolloutpermit.Set(to, w.permit)
	uid, over := w.child.GetUID(), w.child.GetResourceVersion()
	r.permits.assume(uid, over, w.permit)
	err := r.Patch(ctx, to, client.MergeFromWithOptions(w.child, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
	switch {
	case err == nil:
		return nil
	case refused(err):
		r.permits.forget(uid)
		return client.IgnoreNotFound(err)
	}
	r.permits.doubt(w.child)
	return err
}

// clear asks the API of permits that may have been written. Until it answers they count.
func (r *Reconciler) clear(ctx context.Context) error {
	for _, obj := range r.permits.doubts() {
		now := obj.DeepCopyObject().(client.Object)
		err := r.Live.Get(ctx, client.ObjectKeyFromObject(obj), now)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read %q, whose permit may have been written: %w", obj.GetName(), err)
		}
		if err != nil || now.GetResourceVersion() == obj.GetResourceVersion() {
			r.permits.forget(obj.GetUID())
		} else {
			r.permits.assume(obj.GetUID(), obj.GetResourceVersion(), rolloutpermit.Of(now))
		}
	}
	return nil
}

// refused reports whether a write was certainly not done.
func refused(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsTooManyRequests(err)
}
