package plugin

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/farrier-dev/farrier/internal/admission"
)

// Beside has the plugin read through the cache of a manager. It gets its rules when that is filled, before any controller runs. foreignBoot
// says that somebody else delivers boots.
func (p *Plugin) Beside(managerNamespace string, foreignBoot bool) func(manager.Manager) error {
	return func(mgr manager.Manager) error {
		assignments := admission.NewAssignments()
		if err := assignments.Follow(context.Background(), mgr.GetCache()); err != nil {
			return err
		}
		return mgr.Add(&serving{p, &admission.Rules{
			ManagerNamespace: managerNamespace, ForeignBoot: foreignBoot, Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Assignments: assignments,
		}})
	}
}

// serving is started by a manager once its caches are full.
type serving struct {
	plugin *Plugin
	rules  *admission.Rules
}

func (s *serving) Start(context.Context) error {
	s.plugin.Serve(s.rules)
	return nil
}

// NeedLeaderElection says that this is not for the one alone that acts.
func (s *serving) NeedLeaderElection() bool { return false }
