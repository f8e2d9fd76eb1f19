package claim

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
)

// conflict says that a Server cannot be bound: it has changed since it was assumed, or the API refuses the write.
type conflict struct {
	version string // of the Server that was written to; empty: no write
	cause   error
}

func (c *conflict) Error() string { return fmt.Sprintf("server was not bound: %v", c.cause) }
func (c *conflict) Unwrap() error { return c.cause }

var errChanged = errors.New("it no longer fits the claim")

// bind binds the server that the allocator assumes for this claim, and tells the allocator what came of it. It returns nil if none is
// assumed, or after a conflict: the claim waits again then.
func (r *Reconciler) bind(ctx context.Context, obj *metalv1.ServerClaim) (*metalv1.Server, error) {
	assumed, ok := r.pool.Assumed(obj.UID)
	if !ok || assumed.Bound != "" {
		return nil, nil
	}
	claim := obj.Namespace + "/" + obj.Name
	server, err := r.take(ctx, obj, assumed.Server)
	if refused := (*conflict)(nil); errors.As(err, &refused) {
		log.FromContext(ctx).V(1).Info("server was not bound", "server", assumed.Server, "error", refused.cause)
		r.pool.Conflict(obj.UID, refused.version)
		r.matcher.wake()
		return nil, nil
	}
	if err != nil {
		return nil, err // it may have been written; the same server is tried again
	}
	if r.pool.Bound(obj.UID, server.ResourceVersion) {
		r.matcher.wake()
	}
	r.steps.begin(client.ObjectKeyFromObject(obj))
	log.FromContext(ctx).Info("claim has a server", "server", server.Name)
	r.event(server, obj, corev1.EventTypeNormal, "Claimed", "ServerClaim %s has the server", claim)
	return server, nil
}

// take writes, in one patch that fails if anybody else has written meanwhile, whose the server is now, that it has to be cleaned
// afterwards, and what it boots.
func (r *Reconciler) take(ctx context.Context, obj *metalv1.ServerClaim, name string) (*metalv1.Server, error) {
	var server metalv1.Server
	if err := r.Get(ctx, client.ObjectKey{Name: name}, &server); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, &conflict{cause: err}
		}
		return nil, err
	}
	if !allocator.Fits(obj, &server) {
		return nil, &conflict{cause: errChanged}
	}
	before := server.DeepCopy()
	if server.Annotations == nil {
		server.Annotations = map[string]string{}
	}
	server.Annotations[metalv1.AnnotationClaimedBy] = string(obj.UID)
	// What the claim wants done to the disks is needed when it is gone.
	if delete(server.Annotations, metalv1.AnnotationClaimCleanup); obj.Annotations[metalv1.AnnotationCleanup] != "" {
		server.Annotations[metalv1.AnnotationClaimCleanup] = obj.Annotations[metalv1.AnnotationCleanup]
	}
	server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: obj.Namespace, Name: obj.Name}
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: obj.Namespace, Name: obj.Name}
	err := r.patchServer(ctx, &server, before, "bind")
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return r.afterRefusal(ctx, obj, before, err)
	}
	return &server, err
}

// afterRefusal reads past the cache whether a server that could not be written is this claim's all the same: a patch whose answer got lost,
// and that is sent again, is refused because the first one was carried out.
func (r *Reconciler) afterRefusal(ctx context.Context, obj *metalv1.ServerClaim, written *metalv1.Server, refusal error) (*metalv1.Server, error) {
	var server metalv1.Server
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(written), &server); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if !bound(&server, obj) || server.Annotations[metalv1.AnnotationClaimedBy] != string(obj.UID) {
		return nil, &conflict{version: written.ResourceVersion, cause: refusal}
	}
	return &server, nil
}

func (r *Reconciler) patchServer(ctx context.Context, server, before *metalv1.Server, what string) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, server, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("%s Server %q: %w", what, server.Name, err)
	}
	return nil
}
