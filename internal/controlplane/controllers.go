package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
)

const (
	// discoveryInterval is how soon the garbage collector learns of a new kind. It also bounds its wait for the new kind's first list.
	discoveryInterval = 3 * time.Second
	// Workers are few: everything they wait for is in this process.
	collectorWorkers = 8
	namespaceWorkers = 4
	accountWorkers   = 1
	// namespaceResync looks at namespaces again whose end was held up by something no event tells of.
	namespaceResync = 5 * time.Minute
)

// controllers are those without which an API server keeps owned objects for ever, namespaces never end and have no default service account,
// and quotas are not counted.
type controllers struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func startControllers(cfg *rest.Config) (*controllers, error) {
	cfg = rest.AddUserAgent(cfg, "farrier-controllers")
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("controllers: %w", err)
	}
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("controllers: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &controllers{cancel: cancel}

	typed := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(ownershipOnly))
	untyped := metadatainformer.NewSharedInformerFactoryWithOptions(objects, 0, metadatainformer.WithTransform(ownershipOnly))
	started := make(chan struct{})
	shared := informerfactory.NewInformerFactory(typed, untyped)
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, objects,
		restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		garbagecollector.DefaultIgnoredResources(), shared, started)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("garbage collector: %w", err)
	}
	quotas, err := newQuotas(ctx, client, shared, started)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("quotas: %w", err)
	}
	namespaces := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		typed.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)

	accounts, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), typed.Core().V1().ServiceAccounts(), typed.Core().V1().Namespaces(),
		client, serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		cancel()
		return nil, fmt.Errorf("service accounts: %w", err)
	}

	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	close(started)
	c.running.Go(func() { collector.Run(ctx, collectorWorkers, discoveryInterval) })
	c.running.Go(func() { collector.Sync(ctx, client.Discovery(), discoveryInterval) })
	c.running.Go(func() { namespaces.Run(ctx, namespaceWorkers) })
	c.running.Go(func() { accounts.Run(ctx, accountWorkers) })
	quotas.run(ctx, &c.running)
	c.running.Go(func() {
		<-ctx.Done()
		typed.Shutdown()
		untyped.Shutdown()
	})
	return c, nil
}

func (c *controllers) stop() {
	c.cancel()
	c.running.Wait()
}

// ownershipOnly drops from cached objects what no controller that shares them reads. The collector watches every object there is, so it adds up.
func ownershipOnly(object any) (any, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return object, nil // a tombstone
	}
	accessor.SetManagedFields(nil)
	accessor.SetAnnotations(nil)
	accessor.SetLabels(nil)
	return object, nil
}
