package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/demo/scenario"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/program/logging"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	"github.com/farrier-dev/farrier/internal/standalone"
	"github.com/farrier-dev/farrier/internal/system"
)

// lab is what the demo starts, and has to put away.
type lab struct {
	options Options
	stderr  io.Writer
	// fail ends the run when a part of the system ends.
	fail func(error)

	dir    string
	log    *os.File
	system *standalone.System
}

// start brings the system up.
func (l *lab) start(ctx context.Context) (*scenario.Lab, error) {
	logger, err := l.prepare()
	if err != nil {
		return nil, err
	}
	if l.system, err = standalone.Start(ctx, l.systemOptions(logger)); err != nil {
		return nil, err
	}
	go l.watchOver(l.system)
	s := &scenario.Lab{
		Client: l.system.Client, Config: l.system.Config, Scheme: system.Scheme(), BootURL: l.system.BootURL,
		CreateEndpoints: l.system.CreateEndpoints, Image: l.system.ImageReference(standalone.SampleRepository), IgnitionKey: bootv1.SecretKeyIgnition,
		Hint: "kubectl --kubeconfig " + l.system.Kubeconfig + " get servers",
	}
	for i, info := range l.system.Rack.BMCs() {
		s.Rack = append(s.Rack, scenario.Place{BMC: info.Name, UUID: info.UUID, Machine: l.system.Rack.Machine(i), Dial: l.system.Rack.Machine(i).Dial, Disks: func() []scenario.Disk { return disks(l.system.Rack.Disks(i)) }})
	}
	if err := l.damage(ctx, s); err != nil {
		return nil, fmt.Errorf("--break %s: %w", l.options.Break, err)
	}
	s.Layers = func(ctx context.Context) (scenario.Layers, error) { return layers(ctx, s.Image) }
	return s, nil
}

// prepare makes the data directory and the log.
func (l *lab) prepare() (logr.Logger, error) {
	var err error
	if l.dir = l.options.Keep; l.dir == "" {
		l.dir, err = os.MkdirTemp("", "farrier-demo-")
	} else {
		err = os.MkdirAll(l.dir, 0o700)
	}
	if err != nil {
		return logr.Discard(), fmt.Errorf("data directory: %w", err)
	}
	if l.options.Verbosity > 0 {
		return logr.FromSlogHandler(logging.NewHandler(l.stderr, slog.Level(-l.options.Verbosity))), nil
	}
	if l.log, err = os.OpenFile(filepath.Join(l.dir, "farrier.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return logr.Discard(), fmt.Errorf("log: %w", err)
	}
	return logr.FromSlogHandler(logging.NewHandler(l.log, slog.LevelInfo)), nil
}

// systemOptions are those of `farrier up`, but for ports, of which any free one will do, and for times.
func (l *lab) systemOptions(logger logr.Logger) standalone.Options {
	o := standalone.DefaultOptions()
	o.DataDir = filepath.Join(l.dir, "data")
	o.APIAddress, o.BootAddress, o.RegistryAddress = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	o.SimAddress = "0.0.0.0:0" // the loopback device, all of its addresses
	o.Sim, o.SimTiming, o.SimWithoutEndpoints = l.options.Servers, timing, true
	o.BMCFastPoll = l.options.fastPoll()
	o.BMCPollInterval = max(20*o.BMCFastPoll, 5*time.Second)
	o.PowerOffBudget = 30 * time.Second
	o.DiscoveryTimeout = l.options.limit()
	o.Logger = logger
	return o
}

// watchOver ends the run when the system ends by itself.
func (l *lab) watchOver(s *standalone.System) {
	select {
	case err := <-s.Failed():
		l.fail(fmt.Errorf("the system failed: %w", err))
	case <-s.Done():
		l.fail(errors.New("the API has ended"))
	}
}

// damage breaks what --break names.
func (l *lab) damage(ctx context.Context, s *scenario.Lab) error {
	switch l.options.Break {
	case BreakImage:
		const repository = "farrier/without-initramfs"
		image := localregistry.SmallImage(3)
		image.Initramfs = nil
		_, err := l.system.Registry.Push(ctx, repository, "latest", image)
		s.Image = l.system.ImageReference(repository)
		return err
	case BreakSecret:
		s.IgnitionKey = "ignition.json"
	case BreakPassword:
		l.system.Rack.SetPassword(0, "somebody changed it")
	case BreakDisk: // of every machine: any of them may be claimed
		_, err := l.system.Rack.InjectFault(fault.Spec{Kind: fault.DiskFails, Share: 1})
		return err
	}
	return nil
}

// stop puts everything away.
func (l *lab) stop() error {
	var errs []error
	if l.system != nil {
		errs = append(errs, l.system.Stop())
	}
	if l.log != nil {
		errs = append(errs, l.log.Close())
	}
	if l.dir != "" && l.options.Keep == "" {
		errs = append(errs, os.RemoveAll(l.dir))
	}
	return errors.Join(errs...)
}

// disks looks at simulated disks.
func disks(all []*sim.Disk) []scenario.Disk {
	seen := make([]scenario.Disk, 0, len(all))
	for _, d := range all {
		one := scenario.Disk{Path: d.Path(), Serial: d.Serial()}
		for _, trace := range d.Traces() {
			one.Traces = append(one.Traces, string(trace))
		}
		seen = append(seen, one)
	}
	return seen
}

// layers reads from the registry itself, past all of Farrier, which layers an image has.
func layers(ctx context.Context, reference string) (scenario.Layers, error) {
	var found scenario.Layers
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return found, err
	}
	image, err := remote.Image(ref, remote.WithContext(ctx))
	if err != nil {
		return found, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return found, err
	}
	for _, layer := range manifest.Layers {
		switch kind := string(layer.MediaType); {
		case strings.HasSuffix(kind, ".kernel"):
			found.Kernel = layer.Digest.String()
		case strings.HasSuffix(kind, ".initramfs"):
			found.Initramfs = layer.Digest.String()
		case strings.HasSuffix(kind, ".squashfs"):
			found.Squashfs = layer.Digest.String()
		}
	}
	return found, nil
}
