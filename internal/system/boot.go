package system

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/adoption"
	"github.com/farrier-dev/farrier/internal/controller/bootdelivery"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/metadata"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/host/neighbour"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/service"
)

// newBootServer makes the boot server. It knows the view, the image cache and the two ways back, and no
// Kubernetes.
func (s *System) newBootServer(c client.Reader, delivery *bootdelivery.Delivery, intake *reportintake.Intake) (*bootserver.Server, error) {
	config := bootserver.Config{
		View: s.view, Profiles: s.profiles, Known: knownServer(c), Blobs: s.blobs, Reports: intake, Unknown: &s.unknown, Deliver: s.recorded(delivery.Delivered),
		Instances: s.instances, DefaultUKI: s.newDefaultUKI().get, Neighbour: neighbour.New(clock.RealClock{}).MAC,
		Alarm: delivery.Alarmed, Early: delivery.PollSoon, Names: s.bootTLSNames, Logger: s.logger.WithName("boot"),
	}
	if s.stream != nil {
		config.Bound = delivery.Bound
	}
	return bootserver.New(s.settings.boot.Fill(config))
}

// knownServer reports whether a machine is that of a Server, from the cache alone: DHCP asks it of every machine that boots nothing now.
func knownServer(c client.Reader) func(uuid, mac string) bool {
	return func(uuid, mac string) bool {
		for key, value := range map[string]string{assignment.KeyUUID: uuid, assignment.KeyMAC: mac} {
			var found metalv1.ServerList
			if value == "" {
				continue
			}
			err := c.List(context.Background(), &found, client.MatchingFields{index.ServerByIdentity: index.Identity(key, value)}, client.Limit(1), client.UnsafeDisableDeepCopy)
			if err == nil && len(found.Items) > 0 {
				return true
			}
		}
		return false
	}
}

// serveDHCP answers DHCP and TFTP, where somebody wants it. Of several managers the one that leads does: two would lease one address twice.
func (t *term) serveDHCP(ctx context.Context) error {
	s, m := t.System, service.NewMetrics()
	if err := metrics.Registry.Register(m); err != nil {
		return err
	}
	defer metrics.Registry.Unregister(m)
	run := s.settings.boot.DHCP(s.boot, m, s.logger.WithName("dhcp"))
	if t.adoption != nil {
		run.Sighted = t.adoption.Seen
	}
	return run.Run(ctx)
}

// addAdoption makes what makes Endpoints of clients of DHCP, where somebody wants it.
func (t *term) addAdoption(mgr ctrl.Manager) error {
	if !t.settings.DHCP.Adopt {
		return nil
	}
	t.adoption = adoption.New(adoption.Config{
		Client: mgr.GetClient(), Prefixes: t.settings.prefixes, Adopts: t.settings.boot.Adopts, Recorder: t.recorder(mgr), Clock: clock.RealClock{},
		Logger: t.logger.WithName("adoption"),
	})
	return t.adoption.SetupWithManager(mgr)
}

// leased takes note of a client that a boot server leases an address to. Where nobody acts, it comes again when it renews its lease.
func (s *System) leased(c dhcp.Sighting) {
	if t := s.term.Load(); t != nil && t.adoption != nil {
		t.adoption.Seen(c)
	}
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
