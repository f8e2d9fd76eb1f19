package controllertest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// known is what was read of objects, by what they were when it was. The store makes JSON of an object and reads that whenever it is asked, which
// is most of what a test of a controller would do otherwise.
type known struct {
	tracker *tracker
	mu      sync.Mutex
	objects map[place]client.Object
	lists   map[string]listed // by what was asked
}

// listed is a list, and after how many writes it was made.
type listed struct {
	list   client.ObjectList
	writes int64
}

// tracker counts what is written to the one that it is.
type tracker struct {
	clienttesting.ObjectTracker
	writes atomic.Int64
}

func (t *tracker) Add(obj runtime.Object) error {
	defer t.writes.Add(1)
	return t.ObjectTracker.Add(obj)
}

func (t *tracker) Create(r schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.CreateOptions) error {
	defer t.writes.Add(1)
	return t.ObjectTracker.Create(r, obj, ns, opts...)
}

func (t *tracker) Update(r schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.UpdateOptions) error {
	defer t.writes.Add(1)
	return t.ObjectTracker.Update(r, obj, ns, opts...)
}

func (t *tracker) Patch(r schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	defer t.writes.Add(1)
	return t.ObjectTracker.Patch(r, obj, ns, opts...)
}

func (t *tracker) Apply(r schema.GroupVersionResource, configuration runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	defer t.writes.Add(1)
	return t.ObjectTracker.Apply(r, configuration, ns, opts...)
}

func (t *tracker) Delete(r schema.GroupVersionResource, ns, name string, opts ...metav1.DeleteOptions) error {
	defer t.writes.Add(1)
	return t.ObjectTracker.Delete(r, ns, name, opts...)
}

// place is where an object is stored, and as what it is read.
type place struct {
	name types.NamespacedName
	as   reflect.Type
}

// read is the store's Get, from memory where the object is what it was.
func (a *API) read(ctx context.Context, key client.ObjectKey, obj client.Object) error {
	if untyped(obj) {
		return a.store.Get(ctx, key, obj)
	}
	uid, version, ok := a.stored(key, obj)
	if !ok {
		return a.store.Get(ctx, key, obj)
	}
	k := &a.known
	k.mu.Lock()
	defer k.mu.Unlock()
	at := place{key, reflect.TypeOf(obj)}
	if was, ok := k.objects[at]; ok && was.GetUID() == uid && was.GetResourceVersion() == version {
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(was.DeepCopyObject()).Elem())
		return nil
	}
	if err := a.store.Get(ctx, key, obj); err != nil {
		return err
	}
	if k.objects == nil {
		k.objects = map[place]client.Object{}
	}
	k.objects[at] = obj.DeepCopyObject().(client.Object)
	return nil
}

// stored tells which object, and which version of it, the store has.
func (a *API) stored(key client.ObjectKey, obj client.Object) (types.UID, string, bool) {
	gvk, err := apiutil.GVKForObject(obj, a.store.Scheme())
	if err != nil {
		return "", "", false
	}
	resource, _ := apimeta.UnsafeGuessKindToResource(gvk)
	found, err := a.known.tracker.Get(resource, key.Namespace, key.Name)
	if err != nil {
		return "", "", false
	}
	meta, err := apimeta.Accessor(found)
	if err != nil {
		return "", "", false
	}
	return meta.GetUID(), meta.GetResourceVersion(), true
}

// readList is the store's List, from memory where nothing was written since.
func (a *API) readList(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if untyped(list) {
		return a.store.List(ctx, list, opts...)
	}
	k := &a.known
	writes := k.tracker.writes.Load()
	var all client.ListOptions
	all.ApplyOptions(opts)
	asked := fmt.Sprintf("%T %s %v %v %d %q", list, all.Namespace, all.LabelSelector, all.FieldSelector, all.Limit, all.Continue)
	k.mu.Lock()
	defer k.mu.Unlock()
	if was, ok := k.lists[asked]; ok && was.writes == writes {
		reflect.ValueOf(list).Elem().Set(reflect.ValueOf(was.list.DeepCopyObject()).Elem())
		return nil
	}
	if err := a.store.List(ctx, list, opts...); err != nil {
		return err
	}
	if k.lists == nil {
		k.lists = map[string]listed{}
	}
	k.lists[asked] = listed{list.DeepCopyObject().(client.ObjectList), writes}
	return nil
}

// untyped reports whether the type of an object does not say its kind.
func untyped(obj runtime.Object) bool {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return true
	default:
		return false
	}
}

// content is what the generation of an object counts: all but metadata and status.
func (a *API) content(ctx context.Context, obj client.Object) (any, error) {
	if untyped(obj) {
		gvk, err := apiutil.GVKForObject(obj, a.store.Scheme())
		if err != nil {
			return nil, err
		}
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(gvk)
		if err := a.store.Get(ctx, client.ObjectKeyFromObject(obj), now); err != nil {
			return nil, err
		}
		delete(now.Object, "metadata")
		delete(now.Object, "status")
		return now.Object, nil
	}
	now := reflect.New(reflect.TypeOf(obj).Elem())
	if err := a.read(ctx, client.ObjectKeyFromObject(obj), now.Interface().(client.Object)); err != nil {
		return nil, err
	}
	for _, name := range []string{"TypeMeta", "ObjectMeta", "Status"} {
		if field := now.Elem().FieldByName(name); field.IsValid() {
			field.SetZero()
		}
	}
	return now.Interface(), nil
}
