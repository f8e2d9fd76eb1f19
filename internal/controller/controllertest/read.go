package controllertest

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// tracker holds objects as JSON keeps them: with whole seconds, and without what is empty. So what it holds is what somebody reads. The fake client
// makes JSON of an object and reads that whenever it is asked, which is most of what a test of a controller would do otherwise.
type tracker struct {
	clienttesting.ObjectTracker
	scheme  *runtime.Scheme
	indexes map[indexed]client.IndexerFunc

	mu     sync.Mutex
	writes map[string]int // by resource
}

func (t *tracker) wrote(resource string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes[resource]++
}

// since is how often objects of a resource were written.
func (t *tracker) since(resource string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes[resource]
}

func (t *tracker) Add(obj runtime.Object) error {
	kept, err := asJSON(obj)
	if err != nil {
		return err
	}
	return t.ObjectTracker.Add(kept) // before anybody reads
}

func (t *tracker) Create(r schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.CreateOptions) error {
	defer t.wrote(r.Resource)
	kept, err := asJSON(obj)
	if err != nil {
		return err
	}
	return t.ObjectTracker.Create(r, kept, ns, opts...)
}

func (t *tracker) Update(r schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.UpdateOptions) error {
	defer t.wrote(r.Resource)
	kept, err := asJSON(obj)
	if err != nil {
		return err
	}
	return t.ObjectTracker.Update(r, kept, ns, opts...)
}

func (t *tracker) Patch(r schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	defer t.wrote(r.Resource)
	kept, err := asJSON(obj)
	if err != nil {
		return err
	}
	return t.ObjectTracker.Patch(r, kept, ns, opts...)
}

func (t *tracker) Apply(r schema.GroupVersionResource, configuration runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	defer t.wrote(r.Resource)
	return t.ObjectTracker.Apply(r, configuration, ns, opts...)
}

func (t *tracker) Delete(r schema.GroupVersionResource, ns, name string, opts ...metav1.DeleteOptions) error {
	defer t.wrote(r.Resource)
	return t.ObjectTracker.Delete(r, ns, name, opts...)
}

// keep stores what JSON has kept already.
func (t *tracker) keep(r schema.GroupVersionResource, obj client.Object) error {
	defer t.wrote(r.Resource)
	return t.ObjectTracker.Patch(r, obj, obj.GetNamespace())
}

// asJSON is an object as it is read after it was written.
func asJSON(obj runtime.Object) (runtime.Object, error) {
	if untyped(obj) {
		return obj, nil
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	kept := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(runtime.Object)
	return kept, json.Unmarshal(text, kept)
}

// read is the store's Get.
func (a *API) read(ctx context.Context, key client.ObjectKey, obj client.Object) error {
	resource, typed := a.resource(obj)
	if !typed {
		return a.store.Get(ctx, key, obj)
	}
	found, err := a.stored.Get(resource, key.Namespace, key.Name)
	if err != nil {
		return err
	}
	show(obj, found)
	return nil
}

// show gives somebody who asked for an object what is stored.
func show(obj client.Object, stored runtime.Object) {
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(stored).Elem())
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
}

// resource is where an object is stored, and whether it is as what it is read.
func (a *API) resource(obj runtime.Object) (schema.GroupVersionResource, bool) {
	gvk, err := apiutil.GVKForObject(obj, a.store.Scheme())
	if err != nil || untyped(obj) {
		return schema.GroupVersionResource{}, false
	}
	resource, _ := apimeta.UnsafeGuessKindToResource(gvk)
	return resource, true
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
	now := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	if err := a.read(ctx, client.ObjectKeyFromObject(obj), now); err != nil {
		return nil, err
	}
	return typedContent(now), nil
}

// typedContent is the content of an object whose type is known.
func typedContent(obj runtime.Object) any {
	rest := reflect.New(reflect.TypeOf(obj).Elem()).Elem()
	rest.Set(reflect.ValueOf(obj).Elem())
	for _, name := range []string{"TypeMeta", "ObjectMeta", statusField} {
		if field := rest.FieldByName(name); field.IsValid() {
			field.SetZero()
		}
	}
	return rest.Addr().Interface()
}
