package system

import (
	"errors"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/image"
)

// checkImages reads what is said of registries and of the cache.
func (s *settings) checkImages() error {
	var errs []error
	var err error
	if s.registryNetworks, err = image.ParseNetworks("--allowed-registry-networks", s.AllowedRegistryNetworks); err != nil {
		errs = append(errs, err)
	}
	if s.UnneededImageCacheSize < 0 || s.UnneededImageCacheSize > s.ImageCacheSize {
		errs = append(errs, fmt.Errorf("--unneeded-image-cache-size: %d is no part of --image-cache-size, %d", s.UnneededImageCacheSize, s.ImageCacheSize))
	}
	for _, reference := range s.PinnedImages {
		if _, err := image.ParseReference(reference); err != nil {
			errs = append(errs, fmt.Errorf("--pinned-images: %w", err))
		}
	}
	return errors.Join(errs...)
}

// newImages makes what finds images out and what keeps them.
func (s *System) newImages() (err error) {
	o := s.settings
	images := image.Options{
		AllowedRegistries: o.AllowedRegistries, PlainHTTP: o.PlainHTTPRegistries, AllowedNetworks: o.registryNetworks, Architecture: o.Architecture,
		Dir: filepath.Join(o.DataDir, imagesDir), MaxBytes: o.ImageCacheSize, Unneeded: image.Budget{Bytes: o.UnneededImageCacheSize},
		Logger: s.logger.WithName("images"),
	}
	if images.Mirrors, err = image.ParseMirrors("--registry-mirrors", o.RegistryMirrors); err != nil {
		return err
	}
	if s.images, err = image.NewResolver(images); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	if s.blobs, err = image.NewBlobs(images); err != nil {
		return fmt.Errorf("image cache: %w", err)
	}
	if err := metrics.Registry.Register(s.blobs); err != nil {
		return fmt.Errorf("metrics of the image cache: %w", err)
	}
	s.pinImages()
	return nil
}

// pinImages has the cache keep the images that flags name, as they are found out.
func (s *System) pinImages() {
	for _, reference := range s.settings.PinnedImages {
		request := image.Request{Reference: reference}
		update := func() {
			result, _ := s.images.Lookup(request)
			if result.Err != nil {
				s.logger.Info("pinned image not resolved", "flag", "--pinned-images", "image", reference, "error", result.Err)
			}
			if result.Plan.Digest != "" {
				_ = s.blobs.Need("--pinned-images "+reference, image.Need{Plan: result.Plan}) // fails for pull secrets only
			}
		}
		s.images.Subscribe(func(changed image.Request) {
			if changed.Reference == reference {
				update()
			}
		})
		update()
	}
}
