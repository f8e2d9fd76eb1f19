package system

import (
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

const (
	// Who does one half of the work: the lifecycle of servers, or the delivery of boots. The halves communicate only through
	// objects, so another operator can do either one. It can also carry out settings and firmware in place of the lifecycle.
	doneByFarrier = "farrier"
	doneByOthers  = "external"
)

// ForeignBoot reports whether another operator delivers boots.
func (o Options) ForeignBoot() bool { return o.BootProvider == doneByOthers }

// ForeignLifecycle reports whether another operator looks after servers.
func (o Options) ForeignLifecycle() bool { return o.ServerLifecycle == doneByOthers }

// checkExternal parses --boot-provider and --server-lifecycle, and the default UKI.
func (s *settings) checkExternal() error {
	var errs []error
	for _, part := range []struct {
		flag, value string
		foreign     *bool
	}{
		{"boot-provider", s.BootProvider, &s.foreignBoot},
		{"server-lifecycle", s.ServerLifecycle, &s.foreignLifecycle},
		{"maintenance-kinds", s.MaintenanceKinds, &s.foreignKinds},
	} {
		switch part.value {
		case doneByFarrier:
		case doneByOthers:
			*part.foreign = true
		default:
			errs = append(errs, fmt.Errorf("--%s: %q is neither %s nor %s", part.flag, part.value, doneByFarrier, doneByOthers))
		}
	}
	if s.foreignBoot && s.foreignLifecycle {
		errs = append(errs, errors.New("--boot-provider and --server-lifecycle: only one of them can be external"))
	}
	if s.DefaultUKIImage != "" {
		if _, err := registry.ParseReference(s.DefaultUKIImage); err != nil {
			errs = append(errs, fmt.Errorf("--default-httpboot-oci-image: %w", err))
		}
		if s.DefaultUKIURL != "" {
			errs = append(errs, errors.New("--default-httpboot-oci-image and --default-httpboot-uki-url: only one of them can be set"))
		}
	}
	return errors.Join(errs...)
}
