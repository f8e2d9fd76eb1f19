package claim

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// serverOf finds the server that is bound to this claim; nil if there is none.
func (r *Reconciler) serverOf(ctx context.Context, obj *metalv1.ServerClaim) (*metalv1.Server, error) {
	if obj.Spec.ServerRef != nil {
		return r.boundServer(ctx, r, obj, obj.Spec.ServerRef.Name)
	}
	// The manager was ended, or lost a race, between binding the server and writing its name into the claim.
	found, err := r.boundServers(ctx, obj)
	if err != nil || len(found) > 0 {
		if len(found) == 0 {
			return nil, err
		}
		return found[0], nil
	}
	assumed, _ := r.pool.Assumed(obj.UID)
	if assumed.Bound == "" {
		return nil, nil
	}
	server, err := r.boundServer(ctx, r, obj, assumed.Server)
	if err == nil && server == nil { // neither the cache nor the writes that are kept show it
		return r.boundServer(ctx, r.APIReader, obj, assumed.Server)
	}
	return server, err
}

// boundServer returns the server of this name if it is bound to this claim.
func (r *Reconciler) boundServer(ctx context.Context, from client.Reader, obj *metalv1.ServerClaim, name string) (*metalv1.Server, error) {
	var server metalv1.Server
	err := from.Get(ctx, client.ObjectKey{Name: name}, &server)
	if err == nil && bound(&server, obj) {
		return &server, nil
	}
	return nil, client.IgnoreNotFound(err)
}

// boundServers lists the servers that carry the mark of this claim and are bound to it.
func (r *Reconciler) boundServers(ctx context.Context, obj *metalv1.ServerClaim) ([]*metalv1.Server, error) {
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.MatchingFields{index.ServerByClaim: string(obj.UID)}); err != nil {
		return nil, err
	}
	var found []*metalv1.Server
	for i := range list.Items {
		server, err := r.boundServer(ctx, r, obj, list.Items[i].Name) // the list may be older than what was written here
		if err != nil {
			return nil, err
		}
		if server != nil {
			found = append(found, server)
		}
	}
	return found, nil
}

// bound reports whether the server is bound to this claim, and not to an earlier one of the same name.
func bound(server *metalv1.Server, obj *metalv1.ServerClaim) bool {
	ref := server.Spec.ServerClaimRef
	if ref == nil || ref.Namespace != obj.Namespace || ref.Name != obj.Name {
		return false
	}
	owner := server.Annotations[metalv1.AnnotationClaimedBy]
	return owner == "" || owner == string(obj.UID)
}

// unbindSurplus unbinds every server of the claim but the one that it names: a manager that was started with a cache of before its
// end may have bound a second one. The mark stays, and so the server is cleaned.
func (r *Reconciler) unbindSurplus(ctx context.Context, obj *metalv1.ServerClaim) error {
	found, err := r.boundServers(ctx, obj)
	if err != nil {
		return err
	}
	for _, server := range found {
		if server.Name == obj.Spec.ServerRef.Name {
			continue
		}
		before := server.DeepCopy()
		server.Spec.ServerClaimRef, server.Spec.BootConfigurationRef = nil, nil
		if err := r.patchServer(ctx, server, before, "unbind"); err != nil {
			return err
		}
	}
	return nil
}
