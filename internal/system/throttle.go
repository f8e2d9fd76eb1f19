package system

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/controller/biossettings"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
)

// stages say how far an object of a kind has come where its spec, state and conditions do not tell.
var stages = map[string]throttle.Staged{throttle.KindBIOSSettings: biossettings.Stage}

// throttled is a manager whose controllers cannot go on for ever about an object that makes no progress: every one that is made with it is
// bounded. What acts for a machine or a person, not by itself, is given the manager's own client.
func (s *System) throttled(mgr ctrl.Manager) (ctrl.Manager, error) {
	reporter := &throttle.Reporter{
		Throttle: s.throttle, Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("farrier"), Clock: clock.RealClock{}, Logger: s.logger,
	}
	err := mgr.Add(named("reports of objects without progress", func(ctx context.Context) error {
		if err := metrics.Registry.Register(s.throttle); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		defer metrics.Registry.Unregister(s.throttle)
		return reporter.Start(ctx)
	}))
	return s.throttle.Manager(mgr, stages), err
}
