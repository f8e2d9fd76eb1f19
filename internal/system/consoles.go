package system

import (
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/farrier-dev/farrier/internal/console"
	"github.com/farrier-dev/farrier/internal/controller/consoletarget"
)

// consoles has the serial consoles of servers, for as long as the term.
func (t *term) consoles(mgr ctrl.Manager) *console.Hub {
	resolver := &consoletarget.Resolver{
		Client: mgr.GetClient(), APIReader: t.controllers.uncached, Namespace: t.settings.ManagerNamespace, Fleet: t.fleet, Clock: clock.RealClock{},
	}
	return &console.Hub{Open: resolver.Open, Clock: clock.RealClock{}, Logger: t.logger.WithName("console")}
}
