package system

import (
	"fmt"
	"net"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/inbound"
)

// callers are the budgets of connections of those who may connect (package inbound). Every listener takes from one of them.
type callers struct{ machines, bmcs, operators *inbound.Budget }

// fewDescriptors is how many files a process should be able to open at least to let a rack of a thousand machines boot at once.
const fewDescriptors = 16384

var (
	// operatorPace is for people, probes and scrapers, which keep their connections, and API servers, which keep theirs to webhooks.
	operatorPace = inbound.Pace{PerSecond: 50, Burst: 500}
	// eventsPace lets a thousand BMCs behind one address tell of a power failure within seconds.
	eventsPace = inbound.Pace{PerSecond: 50, Burst: 1000}
)

// bootPace is the one of machines.
func (s *settings) bootPace() inbound.Pace {
	return inbound.Pace{PerSecond: s.BootTLSRateLimit, Burst: handshakesAtOnce * s.BootTLSRateLimit}
}

// checkConnections shares out the connections that this process can hold. Go has raised its soft limit to the hard one (package os).
func (s *settings) checkConnections() error {
	if s.MaxConnections < 0 {
		return fmt.Errorf("--max-connections: %d is negative", s.MaxConnections)
	}
	if s.MaxConnectionsPerAddress < 0 {
		return fmt.Errorf("--max-connections-per-address: %d is negative", s.MaxConnectionsPerAddress)
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	s.descriptors = uint64(files.Cur) //nolint:unconvert // signed on FreeBSD
	var err error
	s.shares, err = inbound.Derive(s.descriptors, s.MaxConnections, s.MaxConnectionsPerAddress)
	return err
}

// newCallers makes the budgets and says what they are.
func (s *System) newCallers() {
	logger := s.logger.WithName("connections")
	budget := func(name string, limits inbound.Limits) *inbound.Budget {
		return inbound.New(name, limits, clock.RealClock{}, logger)
	}
	shares := s.settings.shares
	s.callers = callers{machines: budget("machines", shares.Machines), bmcs: budget("BMCs", shares.BMCs), operators: budget("operators", shares.Operators)}
	logger.V(1).Info("connection limits set", "openFiles", s.settings.descriptors, "machines", shares.Machines, "bmcs", shares.BMCs, "operators", shares.Operators)
	if s.settings.descriptors < fewDescriptors {
		logger.V(1).Info("open-file limit is low (ulimit -n, LimitNOFILE=), which limits connections", "openFiles", s.settings.descriptors,
			"total", shares.Machines.Total, "perAddress", shares.Machines.PerAddress)
	}
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
