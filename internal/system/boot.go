package system

import (
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/controller/bootdelivery"
	"github.com/farrier-dev/farrier/internal/controller/report"
)

// newBootServer makes the boot server. It knows the view, the image cache and the two ways back, and no
// Kubernetes.
func (s *System) newBootServer(delivery *bootdelivery.Delivery, intake *report.Intake) (*bootserver.Server, error) {
	return bootserver.New(bootserver.Config{
		View: s.view, Profiles: s.profiles, NoAssignment: s.settings.NoAssignment, Blobs: s.blobs, Reports: intake, Deliver: delivery.Delivered, BootURL: s.BootURL,
		DefaultUKI:        s.newDefaultUKI().get,
		TrustedForwarders: s.settings.forwarders, TrustPrivateNetworks: s.settings.trustPrivate, IgnitionAccess: bootserver.Access(s.settings.IgnitionAccess),
		ProgramsDir: s.settings.BootProgramsDir, RateLimit: s.settings.BootRateLimit,
		AllowUnauthenticatedProbe: s.settings.AllowUnauthenticatedProbe, Logger: s.logger.WithName("boot"),
	})
}
