package index

import (
	"context"
	"reflect"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Requests lists objects and returns a reconcile request for each; list is an empty one of their kind. It is for functions that map an object to
// those that a change of it concerns. They cannot return an error, so it logs one, and nothing is reconciled for that change.
func Requests(ctx context.Context, from client.Reader, list client.ObjectList, options ...client.ListOption) []reconcile.Request {
	return RequestsIf(ctx, from, list, func(client.Object) bool { return true }, options...)
}

// RequestsIf is Requests for those of the listed objects that wanted accepts. These belong to the cache: wanted must not change them.
func RequestsIf(ctx context.Context, from client.Reader, list client.ObjectList, wanted func(client.Object) bool, options ...client.ListOption) []reconcile.Request {
	of := (&client.ListOptions{}).ApplyOptions(options)
	if err := from.List(ctx, list, of, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "objects to reconcile not listed", "kind", kindOf(list), "namespace", of.Namespace, "selector", selectorOf(of))
		return nil
	}
	requests := make([]reconcile.Request, 0, apimeta.LenList(list))
	// It fails only for what is no list, and for items that are no objects.
	_ = apimeta.EachListItem(list, func(item runtime.Object) error {
		if obj := item.(client.Object); wanted(obj) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
		}
		return nil
	})
	return requests
}

// kindOf names the kind of a list without its group.
func kindOf(list client.ObjectList) string {
	t := reflect.TypeOf(list)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// selectorOf is the index that was asked, with the value.
func selectorOf(of *client.ListOptions) string {
	if of.FieldSelector == nil {
		return ""
	}
	return of.FieldSelector.String()
}
