package system

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/controller/biossettings"
	"github.com/farrier-dev/farrier/internal/controller/brake"
)

// stages say how far an object of a kind has come where its spec, state and conditions do not tell.
var stages = map[string]brake.Staged{brake.KindBIOSSettings: biossettings.Stage}

// braked is a manager whose controllers cannot go on for ever about an object that comes no further: every one that is made with it is
// bounded. What acts for a machine or a person, not by itself, is given the manager's own client.
func (s *System) braked(mgr ctrl.Manager) (ctrl.Manager, error) {
	reporter := &brake.Reporter{
		Brake: s.brake, Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("farrier"), Clock: clock.RealClock{}, Logger: s.logger,
	}
	err := mgr.Add(named("reports of objects that come no further", func(ctx context.Context) error {
		if err := metrics.Registry.Register(s.brake); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		defer metrics.Registry.Unregister(s.brake)
		return reporter.Start(ctx)
	}))
	return s.brake.Manager(mgr, stages), err
}
