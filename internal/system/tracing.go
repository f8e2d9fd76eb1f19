package system

import (
	"fmt"

	clientevents "k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/otlp"
	"github.com/farrier-dev/farrier/internal/program/version"
)

// checkTracing makes what sends spans, where somebody wants them.
func (s *settings) checkTracing() (err error) {
	if s.OTLPEndpoint == "" {
		return nil
	}
	s.spans, err = otlp.New(otlp.Options{Endpoint: s.OTLPEndpoint, Program: s.Program, Version: version.String(), Logger: s.Logger.WithName("otlp")})
	if err != nil {
		return fmt.Errorf("--otlp-endpoint: %w", err)
	}
	return nil
}

// recorder is that of one of the controllers, which all share one budget.
func (s *System) recorder(mgr ctrl.Manager) clientevents.EventRecorder {
	return s.events.Recorder(mgr.GetEventRecorder("farrier"))
}

// tracing are the parts that follow boots.
func (s *System) tracing() ([]part, error) {
	parts := []part{{"boots that end quietly", s.trace.Run}}
	if s.spans == nil {
		return parts, nil
	}
	if err := metrics.Registry.Register(s.spans); err != nil {
		return nil, fmt.Errorf("metrics of --otlp-endpoint: %w", err)
	}
	return append(parts, part{"spans for --otlp-endpoint", s.spans.Run}), nil
}
