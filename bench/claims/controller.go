package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/controller/claim"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/readcache"
)

// The claim controller is started by its first request, and asked what it has used by all others.
const roleController = "controller"

type controllerRequest struct {
	Kubeconfig string
	Workers    int
	Profiles   string // an address; empty: none
}

type controllerAnswer struct{ CPU time.Duration }

func controllerRole(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	failed := make(chan error, 1)
	return child.Serve(func(request controllerRequest) (a controllerAnswer, err error) {
		if request.Kubeconfig != "" {
			mgr, err := newManager(ctx, request)
			if err != nil {
				return a, err
			}
			running.Go(func() { failed <- mgr.Start(ctx) })
			if !mgr.GetCache().WaitForCacheSync(ctx) {
				return a, fmt.Errorf("the cache of the controller did not fill")
			}
		}
		select {
		case err := <-failed:
			return a, fmt.Errorf("the controller has ended: %w", err)
		default:
		}
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			return a, fmt.Errorf("getrusage: %w", err)
		}
		return controllerAnswer{time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}, nil
	})
}

// newManager is what internal/system makes, with one controller alone.
func newManager(ctx context.Context, request controllerRequest) (ctrl.Manager, error) {
	ctrl.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", request.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS = -1
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: site.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, PprofBindAddress: request.Profiles,
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return nil, err
	}
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	claims := &claim.Reconciler{
		Client: readcache.New(mgr.GetAPIReader(), mgr.GetCache()).Client(mgr.GetClient()), APIReader: mgr.GetAPIReader(), Clock: clock.RealClock{}, Workers: request.Workers,
	}
	return mgr, claims.SetupWithManager(mgr)
}
