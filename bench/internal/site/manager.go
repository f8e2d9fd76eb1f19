package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/loopback"
)

// ManagerPackage is what a manager is built of.
const ManagerPackage = "github.com/farrier-dev/farrier/cmd/farrier-manager"

// Manager is a farrier-manager.
type Manager struct {
	Process *program.Program
	config  ManagerConfig
	client  http.Client
}

// ManagerConfig says what a manager manages, and where it is found. A manager that is started again is
// found at the same addresses.
type ManagerConfig struct {
	Binary, Kubeconfig, Folder string
	Rack                       *Rack
	PollInterval, FastPoll     time.Duration
	Boot, Metrics, Profiles    string // addresses
	Flags                      []string
}

// FreeAddresses are some that nobody listens on, nor will before they are used.
func FreeAddresses(ctx context.Context, n int) (addresses []string, err error) {
	for range n {
		at, err := loopback.Choose(ctx)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, at)
	}
	return addresses, nil
}

// StartManager starts a manager. It does not wait for anything.
func StartManager(ctx context.Context, c ManagerConfig) (*Manager, error) {
	prefixes := filepath.Join(c.Folder, "prefixes.yaml")
	database := fmt.Sprintf(`macPrefixes:
- macPrefix: %q
  manufacturer: Simulated
  protocol: Redfish
  protocolScheme: http
  port: %d
  type: bmc
  defaultCredentials:
  - username: %s
    password: %s
`, sim.MACPrefix, c.Rack.port, Username, Password)
	if err := os.WriteFile(prefixes, []byte(database), 0o600); err != nil {
		return nil, err
	}
	args := []string{
		"--kubeconfig", c.Kubeconfig, "--manager-namespace", Namespace, "--data-dir", filepath.Join(c.Folder, "manager"),
		"--mac-prefixes-file", prefixes, "--probe-os-image", c.Rack.Image(),
		"--allowed-registries", c.Rack.registry, "--plain-http-registries", c.Rack.registry,
		"--boot-address", c.Boot, "--boot-url", "http://" + c.Boot, "--metrics-address", c.Metrics, "--metrics-plain", "--pprof-address", c.Profiles,
		"--health-address", "", "--leader-elect=false",
		"--bmc-poll-interval", c.PollInterval.String(), "--bmc-fast-poll", c.FastPoll.String(),
	}
	process, err := program.Start(ctx, c.Binary, func(string) {}, append(args, c.Flags...)...)
	return &Manager{Process: process, config: c, client: http.Client{Timeout: time.Minute}}, err
}

// WaitReady returns when the manager answers.
func (m *Manager) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		_, err := Scrape(ctx, &m.client, "http://"+m.config.Metrics+"/metrics", "go_")
		if err == nil {
			return nil
		}
		select {
		case <-m.Process.Exited():
			return m.Process.Err()
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Heap is how much memory lives on the manager's heap after a collection.
func (m *Manager) Heap(ctx context.Context) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.config.Profiles+"/debug/pprof/heap?gc=1", nil)
	if err != nil {
		return 0, err
	}
	response, err := m.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("heap of the manager: %w", err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return 0, fmt.Errorf("heap of the manager: %w", err)
	}
	samples, err := Scrape(ctx, &m.client, "http://"+m.config.Metrics+"/metrics", "go_memstats_heap_alloc_bytes")
	if err != nil || len(samples) == 0 {
		return 0, errors.Join(err, fmt.Errorf("heap of the manager: %d samples", len(samples)))
	}
	return int64(samples[0].Value), nil
}

// Available is how many servers are free for a claim by the manager's own count, which may be ahead of what it has written.
func (m *Manager) Available(ctx context.Context) (int, error) {
	samples, err := Scrape(ctx, &m.client, "http://"+m.config.Metrics+"/metrics", "farrier_servers")
	if err != nil {
		return 0, err
	}
	return AvailableServers(samples), nil
}

// AvailableServers is how many servers are free for a claim by a manager's metrics.
func AvailableServers(samples []Sample) int {
	for _, s := range samples {
		if s.Name == "farrier_servers" && s.Labels["state"] == string(metalv1.ServerStateAvailable) {
			return int(s.Value)
		}
	}
	return 0 // the controllers have not begun
}
