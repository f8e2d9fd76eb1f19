package system

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/bootdelivery"
	"github.com/farrier-dev/farrier/internal/controller/metadata"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/host/neighbour"
)

// newBootServer makes the boot server. It knows the view, the image cache and the two ways back, and no
// Kubernetes.
func (s *System) newBootServer(delivery *bootdelivery.Delivery, intake *reportintake.Intake) (*bootserver.Server, error) {
	return bootserver.New(s.settings.boot.Fill(bootserver.Config{
		View: s.view, Profiles: s.profiles, Blobs: s.blobs, Reports: intake, Unknown: &s.unknown, Deliver: s.recorded(delivery.Delivered),
		Instances: s.instances, DefaultUKI: s.newDefaultUKI().get, Neighbour: neighbour.New(clock.RealClock{}).MAC,
		Alarm: delivery.Alarmed, Early: delivery.PollSoon, Names: s.bootTLSNames, Logger: s.logger.WithName("boot"),
	}))
}

// recorded has every answer recorded on its way to the conditions.
func (s *System) recorded(deliver func(bootview.Delivery)) func(bootview.Delivery) {
	return func(d bootview.Delivery) {
		s.history.Record(d)
		deliver(d)
	}
}

// addMetadata makes what keeps the metadata of running machines, where somebody wants it.
func (s *System) addMetadata(ctx context.Context, mgr ctrl.Manager) error {
	if s.instances == nil {
		return nil
	}
	return (&metadata.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Instances: s.instances, Static: s.settings.static, Sites: s.settings.boot.Sites,
	}).SetupWithManager(ctx, mgr)
}
