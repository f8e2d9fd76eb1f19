package system

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/dashboard"
)

// shownKinds are those whose changes change pages.
func shownKinds() []client.Object {
	kinds := []client.Object{&metalv1.Server{}, &metalv1.ServerClaim{}, &metalv1.BMC{}, &metalv1.ServerBootConfiguration{}, &metalv1.ServerMaintenance{}, &farrierv1.RolloutPolicy{}}
	for _, m := range bootmethod.Methods {
		kinds = append(kinds, m.New())
	}
	return kinds
}

// HasDashboard reports whether there is one at the operators' address.
func (s *System) HasDashboard() bool { return s.settings.Dashboard && s.OperatorURL != "" }

// addDashboard puts the dashboard at the operators' address, if it is wanted.
func (s *System) addDashboard(mgr ctrl.Manager, server *operator.Server, unknown func() []operator.UnknownMachine) error {
	if !s.settings.Dashboard {
		return nil
	}
	d := dashboard.New(dashboard.Options{
		API: mgr.GetClient(), Live: mgr.GetAPIReader(), Config: mgr.GetConfig(), Operator: server, Unknown: unknown, Contact: &s.contact,
		Cached: s.cachedImages(), Namespace: s.settings.ManagerNamespace, Labels: s.settings.filter.Labels(), Clock: clock.RealClock{}, Logger: s.logger.WithName("dashboard"),
	})
	server.Dashboard = d
	return mgr.Add(named("dashboard", func(ctx context.Context) error { return d.Run(ctx, mgr.GetCache(), shownKinds()...) }))
}

// cachedImages tells what the cache of images has; nil: this process has none.
func (s *System) cachedImages() func() []dashboard.CachedImage {
	if s.blobs == nil {
		return nil
	}
	return func() (images []dashboard.CachedImage) {
		for _, k := range s.blobs.Kept() {
			images = append(images, dashboard.CachedImage(k))
		}
		return images
	}
}
