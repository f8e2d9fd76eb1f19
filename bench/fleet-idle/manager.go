package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

// manager is a farrier-manager.
type manager struct {
	process *program.Program
	metrics string // URL
	client  http.Client
	// slowest is how long the slowest answer with metrics took.
	slowest time.Duration
}

func startManager(ctx context.Context, binary, kubeconfig, folder string, c config) (*manager, error) {
	addresses, err := site.FreeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	m := &manager{metrics: "http://" + addresses[0] + "/metrics", client: http.Client{Timeout: time.Minute}}
	args := []string{
		"--kubeconfig", kubeconfig, "--manager-namespace", site.Namespace, "--data-dir", folder,
		"--metrics-address", addresses[0], "--metrics-plain", "--boot-address", addresses[1], "--health-address", "",
		"--bmc-poll-interval", c.Interval.String(),
	}
	if c.Pprof != "" {
		args = append(args, "--pprof-address", c.Pprof)
	}
	m.process, err = program.Start(ctx, binary, func(string) {}, args...)
	return m, err
}

// fleetState is what the manager says of its fleet.
type fleetState struct {
	OK        int // BMCs whose last turn went well
	Failing   int // those whose last turn did not
	Available int // Servers in this state
}

// fleet reads the manager's metrics. A manager that does not serve them yet has no fleet yet.
func (m *manager) fleet(ctx context.Context) (s fleetState, err error) {
	began := time.Now()
	samples, err := site.Scrape(ctx, &m.client, m.metrics, "farrier_")
	m.slowest = max(m.slowest, time.Since(began))
	if err != nil {
		select {
		case <-m.process.Exited():
			return s, m.process.Err()
		default:
		}
		if _, ok := errors.AsType[*net.OpError](err); ok {
			return s, nil
		}
		return s, fmt.Errorf("of the manager: %w", err)
	}
	s.Available = site.AvailableServers(samples)
	for _, one := range samples {
		n, condition := int(one.Value), one.Labels["condition"]
		switch {
		case one.Name != "farrier_fleet_bmcs":
		case condition == "ok":
			s.OK = n
		case condition != "unknown":
			s.Failing += n
		}
	}
	return s, nil
}
