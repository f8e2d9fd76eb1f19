package system

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// checkPinned checks the names of images that are kept.
func (s *settings) checkPinned() error {
	var errs []error
	for _, reference := range s.PinnedImages {
		if _, err := registry.ParseReference(reference); err != nil {
			errs = append(errs, fmt.Errorf("--pinned-images: %w", err))
		}
	}
	return errors.Join(errs...)
}

// newImages makes the image resolver and the blob cache.
func (s *System) newImages() (err error) {
	registries := s.settings.boot.Registries(s.logger.WithName("images"))
	registries.Architecture = s.settings.Architecture
	if s.images, err = registry.NewResolver(registries); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	if s.blobs, err = s.settings.boot.NewBlobs(registries); err != nil {
		return err
	}
	if err := metrics.Registry.Register(s.blobs); err != nil {
		return fmt.Errorf("metrics of the image cache: %w", err)
	}
	if s.stream != nil {
		s.stream.source.ObservePins(s.blobs)
	}
	s.pinImages()
	s.watchProbe()
	return nil
}

// pinImages pins the images of --pinned-images as they are resolved.
func (s *System) pinImages() {
	for _, reference := range s.settings.PinnedImages {
		request := registry.Request{Reference: reference}
		update := func() {
			result, _ := s.images.Lookup(request)
			if result.Err != nil {
				s.logger.Info("pinned image not resolved", "flag", "--pinned-images", "image", reference, "error", result.Err)
			}
			if result.Plan.Digest != "" {
				_ = s.blobs.Pin("--pinned-images "+reference, registry.Pin{Plan: result.Plan, Site: booturl.EverySite}) // fails for pull secrets only
			}
		}
		s.images.Subscribe(func(changed registry.Request) {
			if changed.Reference == reference {
				update()
			}
		})
		update()
	}
}
