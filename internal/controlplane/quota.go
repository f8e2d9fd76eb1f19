package controlplane

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/quota/v1/install"
)

const (
	quotaWorkers = 2
	// quotaResync is how often every quota is counted again, from memory. Until a quota was counted nothing that it limits is admitted, so this
	// is also how long one of a kind that was defined a moment ago may take.
	quotaResync = 10 * time.Second
)

// countedByShortNames are those resources that a quota may also name without count/, as in every cluster. Whatever else is served is counted as
// count/<resource>.<group>.
var countedByShortNames = map[string]corev1.ResourceName{
	"secrets":        corev1.ResourceSecrets,
	"configmaps":     corev1.ResourceConfigMaps,
	"resourcequotas": corev1.ResourceQuotas,
}

// quotas counts what there is of what quotas limit. The admission plugin of that name refuses what would be too much, and only ever counts up.
type quotas struct {
	*resourcequota.Controller
	// own has the quotas themselves: their status is written with their labels, which shared informers do not keep.
	own    informers.SharedInformerFactory
	client kubernetes.Interface
}

func newQuotas(ctx context.Context, client kubernetes.Interface, shared informerfactory.InformerFactory, started <-chan struct{}) (*quotas, error) {
	evaluators := make([]quota.Evaluator, 0, len(countedByShortNames))
	for resource, name := range countedByShortNames {
		gvr := corev1.SchemeGroupVersion.WithResource(resource)
		list := generic.ListResourceUsingListerFunc(generic.ListerFuncForResourceFunc(shared.ForResource), gvr)
		evaluators = append(evaluators, generic.NewObjectCountEvaluator(gvr.GroupResource(), list, name))
	}
	q := &quotas{client: client, own: informers.NewSharedInformerFactory(client, 0)}
	var err error
	q.Controller, err = resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               client.CoreV1(),
		ResourceQuotaInformer:     q.own.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(quotaResync),
		Registry:                  generic.NewRegistry(evaluators),
		DiscoveryFunc:             client.Discovery().ServerPreferredNamespacedResources,
		IgnoredResourcesFunc:      install.DefaultIgnoredResources,
		InformersStarted:          started,
		InformerFactory:           shared,
		ReplenishmentResyncPeriod: controller.StaticResyncPeriodFunc(0), // what is deleted is seen as it happens
	})
	return q, err
}

// run works until the context ends.
func (q *quotas) run(ctx context.Context, running *sync.WaitGroup) {
	q.own.Start(ctx.Done())
	running.Go(func() { q.Run(ctx, quotaWorkers) })
	running.Go(func() { q.Sync(ctx, q.client.Discovery().ServerPreferredNamespacedResources, discoveryInterval) })
	running.Go(func() {
		<-ctx.Done()
		q.own.Shutdown()
	})
}
