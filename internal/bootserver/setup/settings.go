package setup

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/image/signature"
	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/service"
)

// Settings are options after they were checked. What is not said of them here is in the options that they were made of.
type Settings struct {
	// Sites are the URLs by which machines come; ReachedAt completes them.
	Sites booturl.Sites
	// Descriptors is how many files this process may open; Shares is what connections may take of them.
	Descriptors uint64
	Shares      inbound.Shares

	o          *Options
	dhcp       *service.Settings
	forwarders []netip.Prefix
	// trustPrivate: no forwarders are named, so those of private networks are believed.
	trustPrivate     bool
	registryNetworks []netip.Prefix
	mirrors          map[string][]string
	signatureKeys    signature.Keys
}

// nobody, in --trusted-forwarders, is the way to trust not even private networks.
const nobody = "none"

// Check refuses what cannot work, before anything is started. The settings refer to the options, which may still be added to.
func (o *Options) Check() (*Settings, error) {
	s := &Settings{o: o}
	return s, errors.Join(
		CheckAddress("boot-address", o.BootAddress), CheckAddress("boot-tls-address", o.BootTLSAddress), CheckAddress("image-address", o.ImageAddress),
		s.checkForwarders(), s.checkURLs(), s.checkAccess(), s.checkTLS(), s.checkImages(), s.checkConnections(), s.checkDataDir(), s.checkDHCP(),
	)
}

func (s *Settings) checkDHCP() (err error) {
	s.dhcp, err = s.o.DHCP.Check()
	return err
}

// DHCP is what answers DHCP and TFTP, with what a boot server says that machines get.
func (s *Settings) DHCP(boots service.Boots, m *service.Metrics, logger logr.Logger) *service.Service {
	return &service.Service{Settings: s.dhcp, Boots: boots, BootFiles: s.o.BootProgramsDir, DataDir: s.o.DataDir, Metrics: m, Logger: logger}
}

// Adopts reports whether a client of DHCP may become an Endpoint.
func (s *Settings) Adopts(c dhcp.Sighting) bool { return s.dhcp.Adopts(c) }

// CheckAddress refuses what is no host:port; empty is for those who look after it themselves.
func CheckAddress(flag, address string) error {
	if address == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// checkForwarders: a DHCP server that stands in the network already asks /httpboot as it always did, so where nobody has
// named the forwarders those of private networks are believed.
func (s *Settings) checkForwarders() error {
	s.trustPrivate = len(s.o.TrustedForwarders) == 0
	if len(s.o.TrustedForwarders) == 1 && s.o.TrustedForwarders[0] == nobody {
		return nil
	}
	var errs []error
	for _, text := range s.o.TrustedForwarders {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--trusted-forwarders: %w", err))
			continue
		}
		s.forwarders = append(s.forwarders, prefix.Masked())
	}
	return errors.Join(errs...)
}

// checkURLs makes bases of the URLs that machines are given. --image-server-url comes from an operator that kept its images below /httpboot and
// may have been given with that path.
func (s *Settings) checkURLs() error {
	var errs []error
	var err error
	if s.Sites, err = booturl.ParseFlag("boot-url", s.o.BootURLs); err != nil {
		errs = append(errs, err)
	}
	if s.o.ImageServerURL != "" {
		if s.o.ImageServerURL, err = booturl.Check(s.o.ImageServerURL); err != nil {
			errs = append(errs, fmt.Errorf("--image-server-url: %w", err))
		}
		s.o.ImageServerURL = strings.TrimRight(strings.TrimSuffix(s.o.ImageServerURL, "/httpboot"), "/")
	}
	return errors.Join(errs...)
}

func (s *Settings) checkAccess() error {
	var errs []error
	refuse := func(flag string, err error) { errs = append(errs, fmt.Errorf("--%s: %w", flag, err)) }
	o := s.o
	if _, err := bootserver.ParseAccess(o.IgnitionAccess); err != nil {
		refuse("ignition-access", err)
	}
	if _, err := bootserver.ParseIdentity(o.BootIdentity); err != nil {
		refuse("boot-identity", err)
	}
	if o.BootSecretsDeadline <= 0 {
		refuse("boot-secrets-deadline", fmt.Errorf("%s is not greater than zero", o.BootSecretsDeadline))
	}
	if o.BootTLSRateLimit < 0 {
		refuse("boot-tls-rate-limit", fmt.Errorf("%d is negative", o.BootTLSRateLimit))
	}
	if o.BootRateLimit < 0 {
		refuse("boot-rate-limit", fmt.Errorf("%d is negative", o.BootRateLimit))
	}
	switch o.NoAssignment {
	case http.StatusServiceUnavailable, http.StatusNotFound:
	default:
		refuse("no-assignment", fmt.Errorf("%s is neither 503 nor 404", strconv.Itoa(o.NoAssignment)))
	}
	return errors.Join(errs...)
}

// checkImages checks the flags for registries and the image cache.
func (s *Settings) checkImages() error {
	var errs []error
	var err error
	if s.registryNetworks, err = registry.ParseNetworks("--allowed-registry-networks", s.o.AllowedRegistryNetworks); err != nil {
		errs = append(errs, err)
	}
	if s.mirrors, err = registry.ParseMirrors("--registry-mirrors", s.o.RegistryMirrors); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, s.checkLayouts(), s.checkSignatureKeys())
	if s.o.UnneededImageCacheSize < 0 || s.o.UnneededImageCacheSize > s.o.ImageCacheSize {
		errs = append(errs, fmt.Errorf("--unneeded-image-cache-size: %d is not between 0 and --image-cache-size, %d", s.o.UnneededImageCacheSize, s.o.ImageCacheSize))
	}
	return errors.Join(errs...)
}

// Fill puts what flags say into the configuration of a boot server.
func (s *Settings) Fill(c bootserver.Config) bootserver.Config {
	o := s.o
	c.Sites, c.NoAssignment, c.ProgramsDir, c.RateLimit = s.Sites, o.NoAssignment, o.BootProgramsDir, o.BootRateLimit
	c.TrustedForwarders, c.TrustPrivateNetworks = s.forwarders, s.trustPrivate
	c.IgnitionAccess, c.Identity, c.SecretsDeadline = bootserver.Access(o.IgnitionAccess), bootserver.Identity(o.BootIdentity), o.BootSecretsDeadline
	c.AllowUnauthenticatedProbe, c.SecretsNeedTLS = o.AllowUnauthenticatedProbe, o.BootSecretsNeedTLS
	return c
}

// ByBMC reports whether machines are told apart by what their BMC was given.
func (s *Settings) ByBMC() bool {
	return bootserver.Identity(s.o.BootIdentity) == bootserver.IdentityBMC
}
