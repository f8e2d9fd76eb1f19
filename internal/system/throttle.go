package system

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/controller/biossettings"
	"github.com/farrier-dev/farrier/internal/controller/bmcsettings"
	"github.com/farrier-dev/farrier/internal/controller/bmcuser"
	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/controller/firmwareversion"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
)

// stages say how far an object of a kind has come where its spec, state and conditions do not tell.
var stages = withSets(map[string]throttle.Staged{
	throttle.KindBIOSSettings: biossettings.Stage, throttle.KindBIOSVersion: firmwareversion.Stage, throttle.KindBMCVersion: firmwareversion.Stage,
	throttle.KindBMCUser: bmcuser.Stage, throttle.KindBMCSettings: bmcsettings.Stage,
})

func withSets(stages map[string]throttle.Staged) map[string]throttle.Staged {
	for _, kind := range childset.Kinds() {
		stages[kind.Name] = kind.Progress
	}
	return stages
}

// throttled reports objects without progress, which their condition and an event say.
func (s *System) throttled(mgr ctrl.Manager, unthrottled client.Client) func(context.Context) error {
	reporter := &throttle.Reporter{
		Throttle: s.throttle, Client: unthrottled, Recorder: s.recorder(mgr), Clock: clock.RealClock{}, Logger: s.logger,
	}
	return func(ctx context.Context) error {
		if err := metrics.Registry.Register(s.throttle); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		defer metrics.Registry.Unregister(s.throttle)
		return reporter.Start(ctx)
	}
}
