package standalone

import (
	"context"
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/image/discovery"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/program/version"
	"github.com/farrier-dev/farrier/internal/system"
)

// startDiscovery builds the discovery image, serves it from a registry of our own, and has machines boot it to be inspected and cleaned. The same files give
// the same image, so a restart changes nothing for a machine that boots.
func (s *System) startDiscovery(ctx context.Context) error {
	o := s.options
	kernel, err := discovery.Find(o.DiscoveryRoot)
	if err != nil {
		return fmt.Errorf("--discovery-root: %w", err)
	}
	parts := discovery.Parts{Kernel: kernel, Agent: discovery.Agent(), Version: version.String()}
	if parts.Agent == "" {
		return errors.New("--discovery-root: no metalprobe beside this program")
	}
	stub, there, err := discovery.Stub(kernel)
	if err != nil {
		return fmt.Errorf("--discovery-root: %w", err)
	}
	if there {
		parts.Stub = stub
	} else {
		o.Logger.Info("discovery image without a UKI: machines cannot boot it over UEFI HTTP", "file", stub)
	}
	image, err := discovery.Build(parts)
	if err != nil {
		return fmt.Errorf("--discovery-root: %w", err)
	}
	registry, err := localregistry.Start(context.WithoutCancel(ctx), o.RegistryAddress) // Stop ends it
	if err != nil {
		return fmt.Errorf("--registry-address: %w", err)
	}
	s.Registry = registry
	pushed, err := registry.Push(ctx, probeRepository, imageTag, localregistry.Image{Kernel: image.Kernel, Initramfs: image.Initramfs, UKI: image.UKI})
	if err != nil {
		return fmt.Errorf("push the discovery image: %w", err)
	}
	o.Logger.Info("discovery image built", "image", pushed.Reference, "digest", pushed.Digest)
	return s.Add(system.Site{ProbeImage: pushed.Reference, Registry: registry.Address()})
}
