//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/sim"
)

// farrierReported is what the agent prints when its report was accepted.
const farrierReported = "report accepted"

const bootURL = "http://" + hostAddress + ":8082"

// bootFarrier has Farrier discover a machine that it has never seen.
func (b *bench) bootFarrier(ctx context.Context, folder string) (seconds float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := neighborhood(ctx); err != nil {
		return 0, err
	}
	// The BMC is simulated, and its own machine finds nothing to boot.
	rack, err := sim.Start(ctx, sim.Options{
		Servers: 1, Address: "127.0.0.1:0", Username: "admin", Password: "factory", Seed: 1,
		Timing: sim.Timing{POST: 100 * time.Millisecond}, BootURL: func() string { return "http://127.0.0.1:1/" },
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rack.Stop(context.WithoutCancel(ctx))) }()
	up, kubeconfig, err := b.startFarrier(ctx, folder, rack)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, up.Stop()) }()
	if err := order(ctx, kubeconfig, rack); err != nil {
		return 0, err
	}
	machine := rack.Machine(0)
	return boot(ctx, machine.UUID(), machine.MAC(), farrierReported)
}

// startFarrier starts it with an empty store, and waits until it is ready.
func (b *bench) startFarrier(ctx context.Context, folder string, rack *sim.Rack) (up *program.Program, kubeconfig string, err error) {
	prefixes := filepath.Join(folder, "prefixes.yaml")
	text := fmt.Sprintf("macPrefixes:\n- {macPrefix: %q, manufacturer: Simulated, protocolScheme: http, port: %d, defaultCredentials: [{username: admin, password: factory}]}\n", sim.MACPrefix, rack.Port())
	if err := os.WriteFile(prefixes, []byte(text), 0o600); err != nil {
		return nil, "", err
	}
	ready := make(chan string, 1)
	up, err = program.Start(ctx, b.farrier, func(line string) {
		ready <- line
	}, "up", "-o", "json", "--data-dir", filepath.Join(folder, "data"), "--boot-address", ":8082", "--boot-url", bootURL, "--mac-prefixes-file", prefixes,
		"--dhcp=server", "--dhcp-interface="+bridge, "--dhcp-range="+strings.Replace(leases, ",", "-", 1),
		"--discovery-root", b.Root, "--registry-address", "127.0.0.1:0", "--trusted-forwarders", "none")
	if err != nil {
		return nil, "", err
	}
	select {
	case line := <-ready:
		var at struct{ Kubeconfig string }
		if err := json.Unmarshal([]byte(line), &at); err != nil {
			return nil, "", errors.Join(fmt.Errorf("%q: %w", line, err), up.Stop())
		}
		return up, at.Kubeconfig, nil
	case <-up.Exited():
		return nil, "", up.Err()
	case <-time.After(patience):
		return nil, "", errors.Join(errors.New("farrier up is not ready"), up.Kill())
	}
}

// order writes the Endpoint of a BMC and waits until Farrier has switched its machine on to be discovered.
func order(ctx context.Context, kubeconfig string, rack *sim.Rack) error {
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	c, err := client.New(access, client.Options{Scheme: site.Scheme()})
	if err != nil {
		return err
	}
	info := rack.BMCs()[0]
	endpoint := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: info.Name}, Spec: metalv1.EndpointSpec{IP: info.IP.String(), MACAddress: info.MAC}}
	if err := c.Create(ctx, endpoint); err != nil {
		return err
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); rack.Machine(0).PowerState() != sim.PowerOn; {
		if time.Now().After(deadline) {
			return errors.New("farrier has not switched the machine on")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}
