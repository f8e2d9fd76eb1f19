package rolloutpolicy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
)

// act writes permits, and asks for boots of the probe, each only if nobody wrote its object in between: otherwise it is decided again. A boot is asked
// for only after all permits are written: until then another change may not have noted that its boot is done, which the next one overwrites.
func (r *Reconciler) act(ctx context.Context, v *view, p plan) error {
	var errs []error
	for _, w := range p.permits {
		if err := r.write(ctx, w); err != nil {
			errs = append(errs, fmt.Errorf("write the permit of %s %q: %w", w.kind, w.child.GetName(), err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, name := range slices.Sorted(maps.Keys(p.asks)) {
		if err := r.ask(ctx, v.objects[name], p.asks[name]); err != nil {
			errs = append(errs, fmt.Errorf("ask Server %q for a boot of the probe: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// ask asks a server for a boot of the probe. What is done about it, and when, is for the controller of Servers to decide.
func (r *Reconciler) ask(ctx context.Context, server *metalv1.Server, id string) error {
	to := server.DeepCopy()
	metav1.SetMetaDataAnnotation(&to.ObjectMeta, metalv1.AnnotationProbeBoot, id)
	patch := client.MergeFromWithOptions(server, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Patch(ctx, to, patch, client.FieldOwner(metalv1.FieldManager)))
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
