package system

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// measured is a part of a term whose metrics are served while it runs: another term of the same process may follow this one.
func measured(t *term, name string, of prometheus.Collector, run func(context.Context) error) manager.Runnable {
	return named(name, func(ctx context.Context) error {
		if err := t.metrics.Register(of); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		defer t.metrics.Unregister(of)
		return run(ctx)
	})
}
