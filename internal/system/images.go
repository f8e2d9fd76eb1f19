package system

import (
	"errors"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// checkImages checks the flags for registries and the image cache.
func (s *settings) checkImages() error {
	var errs []error
	var err error
	if s.registryNetworks, err = registry.ParseNetworks("--allowed-registry-networks", s.AllowedRegistryNetworks); err != nil {
		errs = append(errs, err)
	}
	if s.UnneededImageCacheSize < 0 || s.UnneededImageCacheSize > s.ImageCacheSize {
		errs = append(errs, fmt.Errorf("--unneeded-image-cache-size: %d is not between 0 and --image-cache-size, %d", s.UnneededImageCacheSize, s.ImageCacheSize))
	}
	for _, reference := range s.PinnedImages {
		if _, err := registry.ParseReference(reference); err != nil {
			errs = append(errs, fmt.Errorf("--pinned-images: %w", err))
		}
	}
	return errors.Join(errs...)
}

// newImages makes the image resolver and the blob cache.
func (s *System) newImages() (err error) {
	o := s.settings
	images := registry.Options{
		AllowedRegistries: o.AllowedRegistries, PlainHTTP: o.PlainHTTPRegistries, AllowedNetworks: o.registryNetworks, Architecture: o.Architecture,
		Logger: s.logger.WithName("images"),
	}
	if images.Mirrors, err = registry.ParseMirrors("--registry-mirrors", o.RegistryMirrors); err != nil {
		return err
	}
	if s.images, err = registry.NewResolver(images); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	if s.blobs, err = blobcache.New(blobcache.Options{
		Options: images, Dir: filepath.Join(o.DataDir, imagesDir), MaxBytes: o.ImageCacheSize,
		Unneeded: blobcache.Budget{Bytes: o.UnneededImageCacheSize},
	}); err != nil {
		return fmt.Errorf("image cache: %w", err)
	}
	if err := metrics.Registry.Register(s.blobs); err != nil {
		return fmt.Errorf("metrics of the image cache: %w", err)
	}
	s.pinImages()
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
