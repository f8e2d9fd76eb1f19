package scenario

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// watched are the kinds that the world consists of.
func watched() []client.Object {
	return []client.Object{
		&metalv1.Endpoint{}, &metalv1.BMC{}, &metalv1.Server{}, &metalv1.ServerClaim{}, &metalv1.ServerBootConfiguration{},
	}
}

// Watch keeps the world up to date until the context ends. It returns when all that exists has been seen; what
// it returns waits for the watches to end.
//
// Every version of an object that the API gives out passes through, so that a state which lasts for a moment is in
// the journal too.
func Watch(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, world *World) (wait func(), err error) {
	watches, err := cache.New(config, cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, fmt.Errorf("watch the API: %w", err)
	}
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { observe(obj, world.Observe) },
		UpdateFunc: func(_, obj any) { observe(obj, world.Observe) },
		DeleteFunc: func(obj any) {
			if unseen, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unseen.Obj
			}
			observe(obj, world.Forget)
		},
	}
	for _, obj := range watched() {
		informer, err := watches.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(handler)
		}
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", obj, err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = watches.Start(ctx) // ends with the context, and with nothing else
	}()
	wait = func() { <-done }
	if !watches.WaitForCacheSync(ctx) {
		wait()
		return nil, fmt.Errorf("watch the API: %w", context.Cause(ctx))
	}
	return wait, nil
}

func observe(obj any, to func(client.Object)) {
	if o, ok := obj.(client.Object); ok {
		to(o)
	}
}
