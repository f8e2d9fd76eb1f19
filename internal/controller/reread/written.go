package reread

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// written has what this process has written and its caches may not have yet. A decision that is made anew in between would
// write the same once more, or be refused as made of something old: under load every fourth write was such a one.
type written struct{ last *lru.Cache } // place to client.Object

// place is where an object is, among those of its Go type.
type place struct {
	of  reflect.Type
	key client.ObjectKey
}

func placeOf(obj client.Object) place {
	return place{reflect.TypeOf(obj), client.ObjectKeyFromObject(obj)}
}

// keep remembers what the API answered to a write. Contents of Secrets are kept by Reader alone.
func (w written) keep(obj client.Object) {
	if _, metadata := obj.(*metav1.PartialObjectMetadata); metadata || !kindOf(obj).Empty() || obj.GetResourceVersion() == "" {
		return
	}
	if copied, ok := obj.DeepCopyObject().(client.Object); ok {
		copied.SetManagedFields(nil)
		w.last.Add(placeOf(obj), copied)
	}
}

// renew makes an object of a cache what was written since, if anything was. An object that is not in the cache is
// left so: it may have been deleted.
func (w written) renew(key client.ObjectKey, obj client.Object) {
	at := place{reflect.TypeOf(obj), key}
	found, ok := w.last.Get(at)
	if !ok {
		return
	}
	newer, ok := found.(client.Object)
	if !ok {
		return
	}
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), newer.GetResourceVersion())
	if err != nil || order >= 0 || newer.GetUID() != obj.GetUID() {
		w.last.Remove(at) // the cache has it
		return
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(newer.DeepCopyObject()).Elem())
}

// status writes status, as writer writes objects.
type status struct {
	client.SubResourceWriter
	written written
}

func (s *status) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	err := s.SubResourceWriter.Update(ctx, obj, opts...)
	if err == nil {
		s.written.keep(obj)
	}
	return err
}

func (s *status) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	err := s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	if err == nil {
		s.written.keep(obj)
	}
	return err
}
