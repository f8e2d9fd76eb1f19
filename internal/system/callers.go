package system

import (
	"fmt"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/inbound"
)

// callers are the budgets of connections of those who may connect (package inbound). Every listener takes from one of them.
type callers struct{ machines, bmcs, operators *inbound.Budget }

var (
	// operatorPace is for people, probes and scrapers, which keep their connections, and API servers, which keep theirs to webhooks.
	operatorPace = inbound.Pace{PerSecond: 50, Burst: 500}
	// eventsPace lets a thousand BMCs behind one address tell of a power failure within seconds.
	eventsPace = inbound.Pace{PerSecond: 50, Burst: 1000}
)

// newCallers makes the budgets and says what they are.
func (s *System) newCallers() {
	logger := s.logger.WithName("connections")
	budget := func(name string, limits inbound.Limits) *inbound.Budget {
		return inbound.New(name, limits, clock.RealClock{}, logger)
	}
	shares := s.settings.boot.Shares
	s.callers = callers{machines: budget("machines", shares.Machines), bmcs: budget("BMCs", shares.BMCs), operators: budget("operators", shares.Operators)}
	s.settings.boot.LogConnections(logger)
}

func (c callers) all() []prometheus.Collector {
	return []prometheus.Collector{c.machines, c.bmcs, c.operators}
}

// register puts the budgets into the metrics; unregister takes them out.
func (c callers) register() error {
	for _, budget := range c.all() {
		if err := metrics.Registry.Register(budget); err != nil {
			return fmt.Errorf("metrics of connections: %w", err)
		}
	}
	return nil
}

func (c callers) unregister() {
	for _, budget := range c.all() {
		metrics.Registry.Unregister(budget)
	}
}

// OperatorListener puts the connections of a listener of TLS to the budget of operators: webhooks that are put beside the system, for example.
func (s *System) OperatorListener(l net.Listener) net.Listener {
	return s.callers.operators.TLSListener(l, operatorPace)
}

// takesOperators opens a listener for operators.
func (s *System) takesOperators(flag, address string, overTLS bool) (net.Listener, error) {
	listener, err := opened(nil, flag, address)
	if err != nil {
		return nil, err
	}
	if overTLS {
		return s.OperatorListener(listener), nil
	}
	return s.callers.operators.Listener(listener), nil
}
