package shardfilter

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Manager returns m as the controllers of this shard see it.
func (f Filter) Manager(m manager.Manager) manager.Manager {
	return &filtered{Manager: m, client: f.Client(m.GetClient()), cache: &filteredCache{Cache: m.GetCache(), filter: f}}
}

type filtered struct {
	manager.Manager
	client client.Client
	cache  cache.Cache
}

func (m *filtered) GetClient() client.Client { return m.client }
func (m *filtered) GetCache() cache.Cache    { return m.cache }

// Client returns a client that does not find objects of other shards.
func (f Filter) Client(c client.Client) client.Client { return &reader{Client: c, filter: f} }

type reader struct {
	client.Client
	filter Filter
}

// Get implements client.Reader.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if err := r.Client.Get(ctx, key, into, opts...); err != nil {
		return err
	}
	if r.filter.Covers(ctx, into) {
		return nil
	}
	kind, err := apiutil.GVKForObject(into, r.Scheme())
	if err != nil {
		return fmt.Errorf("kind of %T: %w", into, err)
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
}

// filteredCache keeps what happens to BMCs and Servers of other shards from controllers: they are most of all that happens. Of other kinds Get decides,
// since which shard they are in can follow from an object that does not exist yet.
type filteredCache struct {
	cache.Cache
	filter Filter
}

// GetInformer implements cache.Informers.
func (c *filteredCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	switch obj.(type) {
	case *metalv1.BMC, *metalv1.Server:
		if informer != nil {
			informer = &filteredInformer{Informer: informer, filter: c.filter}
		}
	}
	return informer, err
}

type filteredInformer struct {
	cache.Informer
	filter Filter
}

func (i *filteredInformer) wrap(h toolscache.ResourceEventHandler) toolscache.ResourceEventHandler {
	return toolscache.FilteringResourceEventHandler{FilterFunc: i.covers, Handler: h}
}

// covers reports whether a controller is told of an object, or of what is left of one that is gone.
func (i *filteredInformer) covers(obj any) bool {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	o, ok := obj.(client.Object)
	return !ok || i.filter.Covers(context.Background(), o) // a BMC and a Server say it themselves: nothing is read
}

func (i *filteredInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(i.wrap(h))
}

func (i *filteredInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithResyncPeriod(i.wrap(h), period)
}

func (i *filteredInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(i.wrap(h), o)
}
