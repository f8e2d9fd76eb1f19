package move_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/internal/controller/leadership"
	"github.com/farrier-dev/farrier/internal/move"
	"github.com/farrier-dev/farrier/internal/system"
)

// api is a Kubernetes API in memory, which can fail.
type api struct {
	client.Client
	store client.Client // the same, and never fails
	kinds []schema.GroupVersionKind
	lists []*metav1.APIResourceList
	// write is asked before each write. Where after is true the write is done, and its answer is the error.
	write func(verb string, obj client.Object) (after bool, err error)
	// denied are verbs and resources that are not allowed.
	denied map[string]bool
}

// definitions are read once.
var definitions = sync.OnceValues(config.CRDs)

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{write: func(string, client.Object) (bool, error) { return false, nil }, denied: map[string]bool{}}
	crds, err := definitions()
	if err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(system.Scheme())
	groups := map[string]*metav1.APIResourceList{}
	for _, crd := range crds {
		version := crd.Spec.Versions[0]
		gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
		list := groups[gvk.GroupVersion().String()]
		if list == nil {
			list = &metav1.APIResourceList{GroupVersion: gvk.GroupVersion().String()}
			groups[gvk.GroupVersion().String()], a.lists = list, append(a.lists, list)
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: crd.Spec.Names.Plural, Kind: gvk.Kind, Namespaced: crd.Spec.Scope == "Namespaced"})
		a.kinds = append(a.kinds, gvk)
		if version.Subresources != nil && version.Subresources.Status != nil {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: crd.Spec.Names.Plural + "/status", Kind: gvk.Kind})
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(gvk)
			builder = builder.WithStatusSubresource(obj)
		}
	}
	store := builder.Build()
	a.store = interceptor.NewClient(store, interceptor.Funcs{Create: born})
	a.Client = interceptor.NewClient(store, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if review, ok := obj.(*authorizationv1.SelfSubjectAccessReview); ok {
				r := review.Spec.ResourceAttributes
				review.Status.Allowed = !a.denied[r.Verb+" "+r.Resource]
				return nil
			}
			return a.written("create", obj, func() error { return born(ctx, c, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return a.written("update", obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return a.written("patch", obj, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return a.written("delete", obj, func() error { return c.Delete(ctx, obj, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return a.written("update status", obj, func() error { return c.SubResource(sub).Update(ctx, obj, opts...) })
		},
	})
	return a
}

// born gives an object what the API server gives a new one, and takes what it does not keep.
func born(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
	obj.SetUID(uuid.NewUUID())
	obj.SetGeneration(1)
	obj.SetCreationTimestamp(metav1.Now())
	return c.Create(ctx, obj, opts...)
}

func (a *api) written(verb string, obj client.Object, do func() error) error {
	after, err := a.write(verb, obj)
	if err != nil && !after {
		return err
	}
	return errors.Join(do(), err)
}

func (a *api) side(name string) move.Side {
	return move.Side{Client: a.Client, Discovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: a.lists}}, Name: name}
}

// everything is each object of the API by kind and name, without what differs from one API to the next: UIDs are the names of what they are of.
func (a *api) everything(t *testing.T) map[string]map[string]any {
	t.Helper()
	found, names := map[string]*unstructured.Unstructured{}, map[types.UID]string{}
	for _, gvk := range append(slices.Clone(a.kinds), schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}) {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := a.store.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			name := gvk.Kind + " " + client.ObjectKeyFromObject(&list.Items[i]).String()
			found[name], names[list.Items[i].GetUID()] = &list.Items[i], name
		}
	}
	all := map[string]map[string]any{}
	for name, obj := range found {
		all[name] = normal(obj, names)
	}
	return all
}

func normal(obj *unstructured.Unstructured, names map[types.UID]string) map[string]any {
	ending := obj.GetDeletionTimestamp() != nil
	content := obj.DeepCopy().Object
	metadata := content["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "deletionTimestamp"} {
		delete(metadata, field)
	}
	if annotations, _ := metadata["annotations"].(map[string]any); len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	metadata["ending"] = ending
	var pairs []string
	for uid, name := range names {
		pairs = append(pairs, string(uid), "<"+name+">")
	}
	replaced(content, strings.NewReplacer(pairs...))
	return content
}

func replaced(value any, names *strings.Replacer) any {
	switch value := value.(type) {
	case string:
		return names.Replace(value)
	case map[string]any:
		for key := range maps.Clone(value) {
			value[key] = replaced(value[key], names)
		}
	case []any:
		for i := range value {
			value[i] = replaced(value[i], names)
		}
	}
	return value
}

// paused reports whether nobody may act on an API.
func (a *api) paused(t *testing.T) bool {
	t.Helper()
	for _, name := range []string{leadership.Lease, leadership.BootLease} {
		var lease coordinationv1.Lease
		err := a.store.Get(t.Context(), client.ObjectKey{Namespace: managers, Name: name}, &lease)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != leadership.Pause {
			return false
		}
	}
	return true
}

// world is the two sides of a move.
type world struct {
	t              *testing.T
	source, target *api
	said           []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, source: newAPI(t), target: newAPI(t)}
	(&estate{t, w.source.store}).settle()
	(&estate{t, w.target.store}).namespace()
	return w
}

func (w *world) options() move.Options {
	return w.optionsOf(w.source.side("source"), w.target.side("target"))
}
