package controllertest

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// lists are those that were read, by what was asked.
type lists struct {
	mu   sync.Mutex
	read map[string]listed
}

// listed is a list, and after how many writes of its objects it was made.
type listed struct {
	list   client.ObjectList
	writes int
}

// readList is the store's List, from memory where nothing was written since.
func (a *API) readList(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	item, err := a.itemOf(list)
	if err != nil || untyped(list) {
		return a.store.List(ctx, list, opts...)
	}
	resource, _ := apimeta.UnsafeGuessKindToResource(item)
	writes := a.stored.since(resource.Resource)
	var all client.ListOptions
	all.ApplyOptions(opts)
	asked := fmt.Sprintf("%T %s %v %v %d %q", list, all.Namespace, all.LabelSelector, all.FieldSelector, all.Limit, all.Continue)
	a.lists.mu.Lock()
	defer a.lists.mu.Unlock()
	if was, ok := a.lists.read[asked]; ok && was.writes == writes {
		reflect.ValueOf(list).Elem().Set(reflect.ValueOf(was.list.DeepCopyObject()).Elem())
		return nil
	}
	if found, err := a.stored.list(item, list, all); err != nil {
		return err
	} else if !found {
		if err := a.store.List(ctx, list, opts...); err != nil {
			return err
		}
	}
	if a.lists.read == nil {
		a.lists.read = map[string]listed{}
	}
	a.lists.read[asked] = listed{list.DeepCopyObject().(client.ObjectList), writes}
	return nil
}

// itemOf is the kind of what is in a list.
func (a *API) itemOf(list client.ObjectList) (schema.GroupVersionKind, error) {
	gvk, err := apiutil.GVKForObject(list, a.store.Scheme())
	if err != nil {
		return gvk, err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	return gvk, nil
}

// indexed is a field of a type that the product has an index of.
type indexed struct {
	of    reflect.Type
	field string
}

// list puts into a list what options ask for. It reports false where only the store can say: of pages, and of fields that have no index.
func (t *tracker) list(item schema.GroupVersionKind, into client.ObjectList, options client.ListOptions) (bool, error) {
	of, known := t.scheme.AllKnownTypes()[item]
	if !known || options.Limit != 0 || options.Continue != "" {
		return false, nil
	}
	var has []func(client.Object) bool
	if options.LabelSelector != nil {
		has = append(has, func(obj client.Object) bool { return options.LabelSelector.Matches(labels.Set(obj.GetLabels())) })
	}
	if options.FieldSelector != nil {
		for _, wanted := range options.FieldSelector.Requirements() {
			values, ok := t.indexes[indexed{reflect.PointerTo(of), wanted.Field}]
			if !ok || wanted.Operator != selection.Equals {
				return false, nil
			}
			has = append(has, func(obj client.Object) bool { return slices.Contains(values(obj), wanted.Value) })
		}
	}
	resource, _ := apimeta.UnsafeGuessKindToResource(item)
	stored, err := t.List(resource, item, options.Namespace)
	if err != nil {
		return false, err
	}
	objects, err := apimeta.ExtractList(stored)
	if err != nil {
		return false, err
	}
	objects = slices.DeleteFunc(objects, func(obj runtime.Object) bool {
		return slices.ContainsFunc(has, func(has func(client.Object) bool) bool { return !has(obj.(client.Object)) })
	})
	slices.SortFunc(objects, func(x, y runtime.Object) int {
		a, b := x.(client.Object), y.(client.Object)
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	for _, obj := range objects {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return true, apimeta.SetList(into, objects)
}
