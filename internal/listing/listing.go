package listing

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// All returns all objects of the kind that list is of, which stays empty. What a caller does with each of them takes no time from the next page.
func All[T client.Object](ctx context.Context, from client.Reader, list client.ObjectList) ([]T, error) {
	found, _, err := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page := list.DeepCopyObject().(client.ObjectList)
		err := from.List(ctx, page, client.Limit(options.Limit), client.Continue(options.Continue))
		return page, err
	}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	objects := make([]T, 0, meta.LenList(found))
	err = meta.EachListItem(found, func(item runtime.Object) error {
		object, ok := item.(T)
		if !ok {
			return fmt.Errorf("a list %T has a %T", list, item)
		}
		objects = append(objects, object)
		return nil
	})
	return objects, err
}
