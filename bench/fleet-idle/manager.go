package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

// manager is a farrier-manager.
type manager struct {
	process *program.Program
	metrics string // URL
	client  http.Client
}

func startManager(ctx context.Context, binary, kubeconfig, folder string, c config) (*manager, error) {
	addresses, err := site.FreeAddresses(2)
	if err != nil {
		return nil, err
	}
	m := &manager{metrics: "http://" + addresses[0] + "/metrics", client: http.Client{Timeout: 10 * time.Second}}
	args := []string{
		"--kubeconfig", kubeconfig, "--manager-namespace", site.Namespace, "--data-dir", folder,
		"--metrics-address", addresses[0], "--boot-address", addresses[1], "--health-address", "",
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
	OK      int // BMCs whose last turn went well
	Failing int // those whose last turn did not
	// Recent are the BMCs whose last answer is no older than two minutes.
	Recent int
}

// fleet reads the manager's metrics. A manager that does not serve them yet has no fleet yet.
func (m *manager) fleet(ctx context.Context) (s fleetState, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.metrics, nil)
	if err != nil {
		return s, err
	}
	response, err := m.client.Do(request)
	if err != nil {
		select {
		case <-m.process.Exited():
			return s, m.process.Err()
		default:
		}
		if _, ok := errors.AsType[*net.OpError](err); ok {
			return s, nil
		}
		return s, fmt.Errorf("metrics of the manager: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		series, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		switch condition, isCondition := strings.CutPrefix(series, "farrier_fleet_bmcs{condition="); {
		case series == `farrier_fleet_observation_age_seconds_bucket{le="120"}`:
			s.Recent = int(value)
		case !isCondition:
		case condition == `"ok"}`:
			s.OK = int(value)
		case condition != `"unknown"}`:
			s.Failing += int(value)
		}
	}
	return s, nil
}
