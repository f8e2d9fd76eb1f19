package system

import (
	"errors"
	"fmt"
	"sync"

	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// checkProbeImages reads what --probe-os-image and --probe-image name. The operator whose flags they were booted the one, and
// had its ignition start the agent of the other; Farrier's own image holds both, and whoever names one image alone means that.
func (s *settings) checkProbeImages() error {
	var errs []error
	for _, named := range []struct{ flag, reference string }{{"probe-os-image", s.ProbeImage}, {"probe-image", s.ProbeAgentImage}} {
		if named.reference == "" {
			continue
		}
		if _, err := registry.ParseReference(named.reference); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", named.flag, err))
		}
	}
	if s.ProbeImage == "" {
		s.ProbeImage = s.ProbeAgentImage
	}
	return errors.Join(errs...)
}

// checkProbe says at start what would otherwise be found out when the first claim ends: every server that comes
// back waits in Cleanup for a probe that can clean.
func (s *System) checkProbe() {
	o := s.settings
	if o.AllowUnauthenticatedProbe {
		s.logger.Info("any client of the boot server can report the hardware of a machine that is being discovered", "flag", "--allow-unauthenticated-probe", "set", "--allow-unauthenticated-probe=false")
	}
	switch {
	case o.cleanup == inspection.CleanNone:
	case o.ProbeImage == "":
		s.logger.Info("no probe image: servers wait in the state Cleanup after their claim; set --probe-os-image, or skip cleaning", "flag", "--probe-os-image", "cleanup", o.cleanup, "set", "--cleanup=none")
	}
}

// watchProbe says so of a probe image without Farrier's agent, as soon as it is known what is in it. Whoever boots a system of their own may have the
// agent in it all the same.
func (s *System) watchProbe() {
	o := s.settings
	if o.cleanup == inspection.CleanNone || o.ProbeImage == "" {
		return
	}
	var once sync.Once
	s.images.Subscribe(func(changed registry.Request) {
		if changed.Reference != o.ProbeImage {
			return
		}
		result, _ := s.images.Lookup(changed)
		if result.Plan.Digest == "" || result.Plan.Discovery {
			return
		}
		once.Do(func() {
			s.logger.Info("probe image is not one of 'farrier image build': if its agent cannot clean, servers wait in the state Cleanup after their claim, unless cleaning is skipped", "image", o.ProbeImage, "cleanup", o.cleanup, "set", "--cleanup=none")
		})
	})
}
