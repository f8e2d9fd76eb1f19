package claim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/allocator"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// serverOf finds the server that this claim has already; nil if it has none.
func (r *Reconciler) serverOf(ctx context.Context, obj *metalv1.ServerClaim) (*metalv1.Server, error) {
	if obj.Spec.ServerRef != nil {
		var cached metalv1.Server
		err := r.Get(ctx, client.ObjectKey{Name: obj.Spec.ServerRef.Name}, &cached)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		found := r.taken.orNewer(obj, &cached)
		if apierrors.IsNotFound(err) || !holds(found, obj) {
			return nil, nil
		}
		return found, nil
	}
	// The manager was ended, or lost a race, between taking the server and writing its name into the claim.
	held, err := r.heldBy(ctx, obj)
	if err != nil || len(held) > 0 {
		if len(held) == 0 {
			return nil, err
		}
		return &held[0], nil
	}
	return r.taken.by(obj), nil
}

// heldBy lists the servers that carry the mark of this claim and are bound to it.
func (r *Reconciler) heldBy(ctx context.Context, obj *metalv1.ServerClaim) ([]metalv1.Server, error) {
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.MatchingFields{index.ServerByClaim: string(obj.UID)}); err != nil {
		return nil, err
	}
	var held []metalv1.Server
	for i := range list.Items {
		s := &list.Items[i]
		r.taken.heard(obj, s)
		if holds(s, obj) {
			held = append(held, *s)
		}
	}
	return held, nil
}

// holds says whether the server is bound to this very claim, and not to one of the same name before it.
func holds(server *metalv1.Server, obj *metalv1.ServerClaim) bool {
	ref := server.Spec.ServerClaimRef
	if ref == nil || ref.Namespace != obj.Namespace || ref.Name != obj.Name {
		return false
	}
	owner := server.Annotations[metalv1.AnnotationClaimedBy]
	return owner == "" || owner == string(obj.UID)
}

// takeGiven takes the server that the matcher has given to this claim. It returns nil if there is none, or another
// was there first: the claim waits again then.
func (r *Reconciler) takeGiven(ctx context.Context, obj *metalv1.ServerClaim) (*metalv1.Server, error) {
	name, given := r.pool.GivenTo(obj.UID)
	if !given {
		return nil, nil
	}
	var server metalv1.Server
	if err := r.Get(ctx, client.ObjectKey{Name: name}, &server); err != nil {
		if apierrors.IsNotFound(err) {
			r.lost(obj, "")
		}
		return nil, client.IgnoreNotFound(err)
	}
	if !allocator.Fits(obj, &server) {
		r.lost(obj, "")
		return nil, nil
	}
	seen := server.ResourceVersion
	err := r.take(ctx, obj, &server)
	switch {
	case err == nil:
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		// A patch whose answer was lost has failed for its own success.
		mine, readErr := r.mine(ctx, obj, name)
		if readErr != nil {
			return nil, readErr
		}
		if mine == nil {
			r.Logger.V(1).Info("Somebody else was there first", "claim", obj.Namespace+"/"+obj.Name, "server", name, "cause", err.Error())
			r.lost(obj, seen)
			return nil, nil
		}
		server = *mine
	default:
		return nil, err // it may have been written; the same server is tried again
	}
	r.taken.remember(obj, &server)
	r.steps.begin(client.ObjectKeyFromObject(obj))
	if r.pool.Taken(obj.UID, server.ResourceVersion) {
		r.matcher.wake()
	}
	r.Logger.Info("Claim has a server", "claim", obj.Namespace+"/"+obj.Name, "server", server.Name)
	r.event(&server, obj, corev1.EventTypeNormal, "Claimed", "ServerClaim %s/%s has the server", obj.Namespace, obj.Name)
	return &server, nil
}

func (r *Reconciler) lost(obj *metalv1.ServerClaim, version string) {
	r.pool.Lost(obj.UID, version)
	r.matcher.wake()
}

// take writes, in one patch that fails if anybody else was there first, whose the server is now, that it
// has to be cleaned afterwards, and what it boots.
func (r *Reconciler) take(ctx context.Context, obj *metalv1.ServerClaim, server *metalv1.Server) error {
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
	return r.patchServer(ctx, server, before, "take")
}

func (r *Reconciler) patchServer(ctx context.Context, server, before *metalv1.Server, what string) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, server, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("%s Server %q: %w", what, server.Name, err)
	}
	return nil
}

// mine reads past the cache whether a server is this claim's.
func (r *Reconciler) mine(ctx context.Context, obj *metalv1.ServerClaim, name string) (*metalv1.Server, error) {
	var server metalv1.Server
	if err := r.APIReader.Get(ctx, client.ObjectKey{Name: name}, &server); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !holds(&server, obj) || server.Annotations[metalv1.AnnotationClaimedBy] != string(obj.UID) {
		return nil, nil
	}
	return &server, nil
}

// returnSurplus gives back what a claim has beside the server that it names: a manager that was started with a cache of
// before its end has taken a second one. The mark stays, and so it is cleaned.
func (r *Reconciler) returnSurplus(ctx context.Context, obj *metalv1.ServerClaim) error {
	held, err := r.heldBy(ctx, obj)
	if err != nil {
		return err
	}
	for i := range held {
		server := &held[i]
		if server.Name == obj.Spec.ServerRef.Name {
			continue
		}
		before := server.DeepCopy()
		server.Spec.ServerClaimRef, server.Spec.BootConfigurationRef = nil, nil
		if err := r.patchServer(ctx, server, before, "give back"); err != nil {
			return err
		}
	}
	return nil
}
