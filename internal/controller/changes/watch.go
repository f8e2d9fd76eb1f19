package changes

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// Watch has the changes that a cache sees written from now on.
func Watch(ctx context.Context, objects cache.Cache, book *logbook.Book) error {
	for _, kind := range []client.Object{&metalv1.Server{}, &metalv1.ServerClaim{}, &metalv1.ServerBootConfiguration{}, &metalv1.BMC{}} {
		informer, err := objects.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("cache of %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(handler(book)); err != nil {
			return fmt.Errorf("changes of %T: %w", kind, err)
		}
	}
	return nil
}

// handler writes what changes. What was there at the start is no news.
func handler(book *logbook.Book) toolscache.ResourceEventHandler {
	write := func(entries []logbook.Entry) {
		for _, e := range entries {
			book.Write(e)
		}
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, atStart bool) {
			if s, ok := of(obj); ok && !atStart {
				write(entriesOf(s, "created"))
				write(diff(seen{subject: s.subject}, s))
			}
		},
		UpdateFunc: func(old, obj any) {
			before, _ := of(old)
			if now, ok := of(obj); ok {
				write(diff(before, now))
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if s, ok := of(obj); ok {
				write(entriesOf(s, "gone"))
			}
		},
	}
}
