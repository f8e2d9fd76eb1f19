package system

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/metadata"
)

// nobody, in --trusted-forwarders, is the way to trust not even private networks.
const nobody = "none"

// checkForwarders: a DHCP server that stands in the network already asks /httpboot as it always did, so where nobody has
// named the forwarders those of private networks are believed.
func (s *settings) checkForwarders() error {
	s.trustPrivate = len(s.TrustedForwarders) == 0
	if len(s.TrustedForwarders) == 1 && s.TrustedForwarders[0] == nobody {
		return nil
	}
	var errs []error
	for _, text := range s.TrustedForwarders {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--trusted-forwarders: %w", err))
			continue
		}
		s.forwarders = append(s.forwarders, prefix.Masked())
	}
	return errors.Join(errs...)
}

// checkBoot reads what the boot server is told by files, and makes bases of the URLs that machines are given. --image-server-url comes from an operator that kept its
// images below /httpboot and may have been given with that path.
func (s *settings) checkBoot() error {
	var errs []error
	var err error
	if s.sites, err = booturl.ParseFlag("boot-url", s.BootURLs); err != nil {
		errs = append(errs, err)
	}
	if s.ImageServerURL != "" {
		if s.ImageServerURL, err = booturl.Check(s.ImageServerURL); err != nil {
			errs = append(errs, fmt.Errorf("--image-server-url: %w", err))
		}
		s.ImageServerURL = strings.TrimRight(strings.TrimSuffix(s.ImageServerURL, "/httpboot"), "/")
	}
	if s.StaticMetadata != "" {
		if s.static, err = metadata.ReadStatic(s.StaticMetadata); err != nil {
			errs = append(errs, fmt.Errorf("--static-metadata: %w", err))
		}
	}
	if _, err := bootserver.ParseIdentity(s.BootIdentity); err != nil {
		errs = append(errs, fmt.Errorf("--boot-identity: %w", err))
	}
	if s.BootSecretsDeadline <= 0 {
		errs = append(errs, fmt.Errorf("--boot-secrets-deadline: %s is not greater than zero", s.BootSecretsDeadline))
	}
	if s.BootTLSRateLimit < 0 {
		errs = append(errs, fmt.Errorf("--boot-tls-rate-limit: %d is negative", s.BootTLSRateLimit))
	}
	if s.BootRateLimit < 0 {
		errs = append(errs, fmt.Errorf("--boot-rate-limit: %d is negative", s.BootRateLimit))
	}
	return errors.Join(errs...)
}

// byBMC reports whether machines are told apart by what their BMC was given.
func (s *settings) byBMC() bool { return bootserver.Identity(s.BootIdentity) == bootserver.IdentityBMC }
