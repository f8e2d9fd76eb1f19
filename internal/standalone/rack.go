package standalone

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	images "github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/vm"
	"github.com/farrier-dev/farrier/internal/system"
)

// The account that every BMC of a simulated rack ships with.
const (
	simUsername = "admin"
	simPassword = "simulated"
)

// Repositories of the images that a simulated rack has at hand.
const (
	probeRepository  = "farrier/probe"
	SampleRepository = "farrier/sample"

	imageTag = "latest"
)

// startRack starts the rack and makes the rest of the system know it.
func (s *System) startRack(ctx context.Context, settings rackSettings) error {
	o := s.options
	options := sim.Options{
		Servers: o.Sim, Address: o.SimAddress, Username: simUsername, Password: simPassword, Timing: o.SimTiming, Seed: 1,
		BootURL: func() string { return s.BootURL + "/ipxe/" }, BootRoots: s.bootRoots, Logger: o.Logger.WithName("sim"),
		Vendors: settings.vendors, Faults: settings.faults, SSH: true,
	}
	var site system.Site
	var err error
	if settings.vm != nil {
		options.Servers = o.VM.Machines
		err = s.openMachines(&options, *settings.vm)
	} else {
		site, err = s.simulatedImages(ctx)
	}
	if err != nil {
		return err
	}
	running := context.WithoutCancel(ctx) // ctx bounds the start; Stop ends the rack, in its own order
	if s.Rack, err = sim.Start(running, options); err != nil {
		return fmt.Errorf("--sim-address: %w", err)
	}
	if o.SimAdminAddress != "" {
		if _, err := s.Rack.StartAdmin(running, o.SimAdminAddress); err != nil {
			return fmt.Errorf("--sim-admin-address: %w", err)
		}
	}
	site.Prefixes = s.rackPrefixes()
	return s.Add(site)
}

// openMachines makes the network of virtual machines, and puts them into the rack.
func (s *System) openMachines(options *sim.Options, settings vm.Settings) error {
	machines, err := vm.Open(settings)
	if err != nil {
		return fmt.Errorf("--sim-vm: %w", err)
	}
	s.machines, s.ConsolesDir, options.Computers = machines, settings.Dir, machines.Computers()
	return nil
}

// simulatedImages starts a registry with what simulated machines boot.
func (s *System) simulatedImages(ctx context.Context) (system.Site, error) {
	registry, err := localregistry.Start(context.WithoutCancel(ctx), s.options.RegistryAddress) // Stop ends it
	if err != nil {
		return system.Site{}, fmt.Errorf("--registry-address: %w", err)
	}
	s.Registry = registry
	for seed, repository := range []string{probeRepository, SampleRepository} {
		image := localregistry.SmallImage(uint64(seed + 1))
		if repository == probeRepository {
			image.Annotations = map[string]string{images.AnnotationDiscovery: "simulated"}
		}
		if _, err := registry.Push(ctx, repository, imageTag, image); err != nil {
			return system.Site{}, fmt.Errorf("push image %s: %w", repository, err)
		}
	}
	return system.Site{ProbeImage: s.ImageReference(probeRepository), Registry: registry.Address()}, nil
}

// rackPrefixes tell what the MAC addresses of the rack's BMCs stand for: all the same where each BMC has an IP address of its own, and otherwise
// each a port of its own.
func (s *System) rackPrefixes() (entries []macprefix.Entry) {
	entry := func(prefix string, port int) macprefix.Entry {
		return macprefix.Entry{
			Prefix: prefix, Manufacturer: "Simulated", Protocol: "Redfish", ProtocolScheme: "http", Port: int32(port), Type: "bmc",
			DefaultCredentials: []macprefix.Credential{{Username: simUsername, Password: bmc.Secret(simPassword)}},
		}
	}
	bmcs := s.Rack.BMCs()
	if bmcs[0].Port == bmcs[len(bmcs)-1].Port {
		return []macprefix.Entry{entry(sim.MACPrefix, s.Rack.Port())}
	}
	for _, b := range bmcs {
		entries = append(entries, entry(b.MAC, b.Port))
	}
	return entries
}

// bootRoots are whom the rack's machines trust: the authority of the boot server, as if somebody had put it into their firmware.
func (s *System) bootRoots() *x509.CertPool {
	ca := s.BootCA()
	if len(ca) == 0 {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return roots
}

// ImageReference is the reference under which a repository of the rack's registry is pulled.
func (s *System) ImageReference(repository string) string {
	return s.Registry.Reference(repository, imageTag)
}

// CreateEndpoints says of each BMC of the rack what a DHCP server would: which MAC address has which IP address.
func (s *System) CreateEndpoints(ctx context.Context) error {
	var errs []error
	for _, info := range s.Rack.BMCs() {
		endpoint := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
		endpoint.Annotations = map[string]string{metalv1.AnnotationSSHHostKey: s.Rack.SSHHostKey()}
		endpoint.Spec.MACAddress, endpoint.Spec.IP = info.MAC, info.IP.String()
		if err := s.Client.Create(ctx, endpoint); err != nil && !apierrors.IsAlreadyExists(err) {
			errs = append(errs, fmt.Errorf("create Endpoint %q: %w", info.Name, err))
		}
	}
	return errors.Join(errs...)
}
