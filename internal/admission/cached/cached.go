package cached

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/farrier-dev/farrier/api"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/admission"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// Rules returns rules that read through a cache, when that is filled. It is kept up to date until the context ends; the error of one that
// could not be is sent to failed.
func Rules(ctx context.Context, cfg *rest.Config, managerNamespace string, failed chan<- error) (*admission.Rules, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("scheme: %w", err)
		}
	}
	others, err := cluster.New(cfg, func(o *cluster.Options) {
		o.Scheme = scheme
		o.Cache = cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
		o.Client = client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &metalv1.BMCSecret{}}}}
	})
	if err != nil {
		return nil, fmt.Errorf("read others: %w", err)
	}
	if err := index.Register(ctx, others.GetFieldIndexer()); err != nil {
		return nil, err
	}
	assignments := admission.NewAssignments()
	if err := assignments.Follow(ctx, others.GetCache()); err != nil {
		return nil, err
	}
	go func() {
		if err := others.Start(ctx); err != nil && ctx.Err() == nil {
			failed <- fmt.Errorf("read others: %w", err)
		}
	}()
	if !others.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.New("read others: the cache did not fill in time")
	}
	return &admission.Rules{ManagerNamespace: managerNamespace, Cached: others.GetClient(), Live: others.GetAPIReader(), Assignments: assignments}, nil
}
