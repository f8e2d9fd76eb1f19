package system

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/controller/bmcreset"
)

// measured runs a worker while its metrics are served: another System of the same process may follow this one.
func measured(w *bmcreset.Worker) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := metrics.Registry.Register(w); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		defer metrics.Registry.Unregister(w)
		return w.Start(ctx)
	}
}
