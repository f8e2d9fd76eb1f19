package system

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// termManager is a manager for one term: its runnables start and end with the term, its client and its cache are those of the process. Nothing of
// a controller stays behind in the informers.
type termManager struct {
	manager.Manager
	cache     *termCache
	runnables []manager.Runnable
}

func newTermManager(process manager.Manager) *termManager {
	return &termManager{Manager: process, cache: &termCache{Cache: process.GetCache()}}
}

func (m *termManager) GetCache() cache.Cache { return m.cache }

// Add adds a part of the term.
func (m *termManager) Add(r manager.Runnable) error {
	m.runnables = append(m.runnables, r)
	return nil
}

// Start runs all parts until ctx ends or one of them fails, and returns when all have ended.
func (m *termManager) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var parts sync.WaitGroup
	failures := make(chan error, len(m.runnables))
	for _, r := range m.runnables {
		parts.Go(func() {
			if err := r.Start(ctx); err != nil && !(errors.Is(err, context.Canceled) && ctx.Err() != nil) {
				failures <- err
				cancel()
			}
		})
	}
	<-ctx.Done()
	parts.Wait()
	m.cache.leave()
	close(failures)
	var errs []error
	for err := range failures {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// errTermOver is what a part gets that is still about to follow informers when its term is over.
var errTermOver = errors.New("the term is over")

// termCache remembers who follows the informers of the process's cache.
type termCache struct {
	cache.Cache

	mu        sync.Mutex
	over      bool
	following []following
}

type following struct {
	informer cache.Informer
	handle   toolscache.ResourceEventHandlerRegistration
}

func (c *termCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	return c.informer(informer), err
}

func (c *termCache) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformerForKind(ctx, kind, opts...)
	return c.informer(informer), err
}

func (c *termCache) informer(of cache.Informer) cache.Informer {
	if of == nil {
		return nil
	}
	return &termInformer{Informer: of, cache: c}
}

// follow adds a handler, unless the term is over.
func (c *termCache) follow(informer cache.Informer, add func() (toolscache.ResourceEventHandlerRegistration, error)) (toolscache.ResourceEventHandlerRegistration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, errTermOver
	}
	handle, err := add()
	if err == nil {
		c.following = append(c.following, following{informer, handle})
	}
	return handle, err
}

// leave removes all handlers.
func (c *termCache) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, f := range c.following {
		_ = f.informer.RemoveEventHandler(f.handle) // fails for a handler of another informer alone
	}
	c.following = nil
}

// termInformer is an informer of the process for one term.
type termInformer struct {
	cache.Informer
	cache *termCache
}

func (i *termInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

func (i *termInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &period})
}

func (i *termInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.cache.follow(i.Informer, func() (toolscache.ResourceEventHandlerRegistration, error) {
		return i.Informer.AddEventHandlerWithOptions(h, o)
	})
}
