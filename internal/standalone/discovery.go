package standalone

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/farrier-dev/farrier/internal/image/discovery"
	"github.com/farrier-dev/farrier/internal/image/layout"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/program/version"
	"github.com/farrier-dev/farrier/internal/system"
)

// Values of --discovery-root that are no folder.
const (
	// DiscoveryAuto takes the kernel of this host if it has one, and goes on without if not.
	DiscoveryAuto = "auto"
	// DiscoveryNone builds no image; so does the empty text.
	DiscoveryNone = "none"
)

// The discovery image is in this folder of the data directory, and has this name in it.
const (
	discoveryDir  = "discovery"
	discoveryName = "probe"
)

// buildsDiscovery reports whether a discovery image is to be built, and whether nothing else will do.
func (o Options) buildsDiscovery() (build, must bool) {
	switch o.DiscoveryRoot {
	case "", DiscoveryNone:
		return false, false
	case DiscoveryAuto:
		foreign := o.ForeignBoot() || o.ForeignLifecycle()
		return o.Sim == 0 && o.ProbeImage == "" && o.ProbeAgentImage == "" && !foreign, false
	}
	return true, true
}

// checkDiscovery refuses a folder that somebody named beside what it does not go with.
func (o Options) checkDiscovery() error {
	_, must := o.buildsDiscovery()
	switch {
	case must && o.Sim > 0:
		return errors.New("the machines of --sim run no real image")
	case must && o.ProbeImage != "":
		return errors.New("--probe-os-image names another image")
	}
	return nil
}

// startDiscovery builds the discovery image, keeps it as a layout in the data directory, and has machines boot it to be inspected and cleaned. The same
// files give the same image, so a restart changes nothing for a machine that boots; other files, and another authority of the boot server, make another.
func (s *System) startDiscovery(ctx context.Context) error {
	build, must := s.options.buildsDiscovery()
	if !build {
		return nil
	}
	digest, err := s.buildDiscovery(ctx)
	switch {
	case err != nil && (must || ctx.Err() != nil):
		return fmt.Errorf("--discovery-root: %w", err)
	case err != nil:
		s.options.Logger.Info("no discovery image built", "flag", "--discovery-root", "error", err)
		return nil
	}
	site := system.Site{
		ProbeImage: registry.Reference{Registry: registry.DiscoveryRegistry, Repository: discoveryName, Tag: imageTag}.String(),
		Layouts:    map[string]string{registry.DiscoveryRegistry: s.discoveryDir()},
	}
	s.options.Logger.Info("discovery image built", "image", site.ProbeImage, "digest", digest)
	if err := s.shareDiscovery(ctx); err != nil {
		return err
	}
	return s.Add(site)
}

func (s *System) discoveryDir() string { return filepath.Join(s.options.DataDir, discoveryDir) }

// buildDiscovery builds the image of what there is and stores it.
func (s *System) buildDiscovery(ctx context.Context) (digest string, err error) {
	parts, err := s.discoveryParts(ctx)
	if err != nil {
		return "", err
	}
	image, err := discovery.Build(parts)
	if err != nil {
		return "", err
	}
	return image.Store(ctx, filepath.Join(s.discoveryDir(), discoveryName), imageTag)
}

// discoveryParts finds what the image is made of.
func (s *System) discoveryParts(ctx context.Context) (discovery.Parts, error) {
	root := s.options.DiscoveryRoot
	if root == DiscoveryAuto {
		root = "/"
	}
	none := discovery.Parts{}
	kernel, err := discovery.Find(root)
	if err != nil {
		return none, err
	}
	parts := discovery.Parts{Kernel: kernel, Agent: discovery.Agent(), Version: version.String()}
	if parts.Agent == "" {
		return none, errors.New("no metalprobe beside this program")
	}
	stub, there, err := discovery.Stub(kernel)
	if err != nil {
		return none, err
	}
	if there {
		parts.Stub = stub
	} else {
		s.options.Logger.Info("discovery image without a UKI: machines cannot boot it over UEFI HTTP (Debian: package systemd-boot-efi)", "file", stub)
	}
	if parts.BootCA, err = s.EnsureBootCA(ctx, s.Client); err != nil {
		return none, err
	}
	if len(parts.BootCA) == 0 && s.SpeaksTLS() {
		return none, errors.New("machines are answered over https, and --boot-tls-ca-file does not name the authority that the image is to trust")
	}
	return parts, nil
}

// shareDiscovery serves the image over HTTP where somebody asked for that: to boot servers elsewhere, which have no folder with it.
func (s *System) shareDiscovery(ctx context.Context) error {
	if s.options.RegistryAddress == "" || s.Registry != nil {
		return nil
	}
	shared, err := localregistry.StartLayouts(context.WithoutCancel(ctx), s.options.RegistryAddress, layout.In(s.discoveryDir())) // Stop ends it
	if err != nil {
		return fmt.Errorf("--registry-address: %w", err)
	}
	s.Registry = shared
	s.options.Logger.Info("discovery image shared", "address", shared.Address())
	return nil
}
