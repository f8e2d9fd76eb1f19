package system

import (
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Who does a half of the work: the lifecycle of servers, and the delivery of boots. Both halves speak through
// objects alone, so either may be somebody else's.
const (
	partOurs    = "farrier"
	partForeign = "external"
)

// ForeignBoot reports whether somebody else delivers boots.
func (o Options) ForeignBoot() bool { return o.BootProvider == partForeign }

func (s *settings) checkParts() error {
	var errs []error
	for _, part := range []struct {
		flag, value string
		foreign     *bool
	}{
		{"boot-provider", s.BootProvider, &s.foreignBoot},
		{"server-lifecycle", s.ServerLifecycle, &s.foreignLifecycle},
	} {
		switch part.value {
		case partOurs:
		case partForeign:
			*part.foreign = true
		default:
			errs = append(errs, fmt.Errorf("--%s: %q is neither %s nor %s", part.flag, part.value, partOurs, partForeign))
		}
	}
	if s.foreignBoot && s.foreignLifecycle {
		errs = append(errs, errors.New("--boot-provider and --server-lifecycle: with both external nothing is left to do"))
	}
	if s.DefaultUKIImage != "" {
		if _, err := registry.ParseReference(s.DefaultUKIImage); err != nil {
			errs = append(errs, fmt.Errorf("--default-httpboot-oci-image: %w", err))
		}
		if s.DefaultUKIURL != "" {
			errs = append(errs, errors.New("--default-httpboot-oci-image and --default-httpboot-uki-url: only one of them can be given"))
		}
	}
	return errors.Join(errs...)
}
