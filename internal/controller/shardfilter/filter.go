package shardfilter

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/shard"
)

// Filter is one shard.
type Filter struct {
	// Shard is its number, from 0, and Shards is how many there are.
	Shard, Shards int
	// Servers reads Servers of all shards: which BMC an object is about that names a Server.
	Servers client.Reader
}

// Covers reports whether an object is of this shard. One that belongs to no BMC is of all shards.
func (f Filter) Covers(ctx context.Context, obj client.Object) bool {
	key, divided := f.keyOf(ctx, obj)
	return !divided || shard.Of(key, f.Shards) == f.Shard
}

// keyOf is what says which shard an object is in; false: it is of a kind that is not divided.
func (f Filter) keyOf(ctx context.Context, obj client.Object) (key string, divided bool) {
	switch o := obj.(type) {
	case *metalv1.BMC:
		return o.Name, true
	case *metalv1.Server:
		return keyOfServer(o), true
	case *metalv1.BMCUser:
		return named(o.Spec.BMCRef), true
	case *metalv1.BMCSettings:
		return named(o.Spec.BMCRef), true
	case *metalv1.BMCVersion:
		return named(o.Spec.BMCRef), true
	case *metalv1.BIOSSettings:
		return f.keyOfNamed(ctx, o.Spec.ServerRef), true
	case *metalv1.BIOSVersion:
		return f.keyOfNamed(ctx, o.Spec.ServerRef), true
	}
	return "", false
}

// keyOfServer is the BMC that a Server names: the object, or the address of an inline one, however it is written.
func keyOfServer(s *metalv1.Server) string {
	switch {
	case s.Spec.BMC != nil:
		if ip, err := identity.IP(s.Spec.BMC.Address); err == nil {
			return ip
		}
		return s.Spec.BMC.Address // which is none: nobody asks it anything
	case s.Spec.BMCRef != nil:
		return s.Spec.BMCRef.Name
	}
	return s.Name
}

// keyOfNamed is that of a Server by its name. One that does not exist has one of its own, so that one manager says that it does not.
func (f Filter) keyOfNamed(ctx context.Context, ref *metalv1.LocalObjectReference) string {
	name := named(ref)
	var server metalv1.Server
	if err := f.Servers.Get(ctx, client.ObjectKey{Name: name}, &server); err != nil {
		return name
	}
	return keyOfServer(&server)
}

func named(ref *metalv1.LocalObjectReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}
