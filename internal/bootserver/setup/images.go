package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/farrier-dev/farrier/internal/host/boundedfile"
	"github.com/farrier-dev/farrier/internal/host/ownership"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/image/signature"
)

// imagesDir is the folder of the data directory for cached layers.
const imagesDir = "images"

// Registries is how registries are talked to.
func (s *Settings) Registries(logger logr.Logger) registry.Options {
	layouts := maps.Clone(s.o.OtherLayouts)
	if s.o.ImageLayouts != "" {
		if layouts == nil {
			layouts = map[string]string{}
		}
		layouts[registry.LayoutRegistry] = s.o.ImageLayouts
	}
	return registry.Options{
		AllowedRegistries: s.o.AllowedRegistries, PlainHTTP: s.o.PlainHTTPRegistries, AllowedNetworks: s.registryNetworks, Mirrors: s.mirrors, Layouts: layouts,
		SignatureKeys: s.signatureKeys, Logger: logger,
	}
}

// checkLayouts: who writes into the folder of image layouts decides what machines boot.
func (s *Settings) checkLayouts() error {
	folder := s.o.ImageLayouts
	if folder == "" {
		return nil
	}
	info, err := os.Stat(folder)
	switch {
	case err != nil:
	case !info.IsDir():
		err = fmt.Errorf("%s is not a folder", folder)
	case info.Mode().Perm()&0o002 != 0:
		err = fmt.Errorf("%s: every user of this host may write there, and so decide what machines boot: chmod o-w", folder)
	default:
		if _, markErr := os.Stat(filepath.Join(folder, ocispec.ImageLayoutFile)); markErr == nil {
			err = fmt.Errorf("%s is a layout itself: name the folder that it is in", folder)
		}
	}
	if err != nil {
		return fmt.Errorf("--image-layouts: %w", err)
	}
	return nil
}

// checkSignatureKeys reads the keys that have to have signed images.
func (s *Settings) checkSignatureKeys() error {
	const flag = "--image-signature-keys"
	switch {
	case s.o.RequireSignedImages && len(s.o.ImageSignatureKeys) == 0:
		return fmt.Errorf("--require-signed-images: %s names no key", flag)
	case !s.o.RequireSignedImages && len(s.o.ImageSignatureKeys) > 0:
		return fmt.Errorf("%s: has no effect without --require-signed-images", flag)
	}
	for _, path := range s.o.ImageSignatureKeys {
		text, err := boundedfile.Read(path, boundedfile.Certificates)
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		keys, err := signature.ParseKeys(text)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", flag, path, err)
		}
		s.signatureKeys = s.signatureKeys.Join(keys)
	}
	return nil
}

// NewBlobs opens the cache of images.
func (s *Settings) NewBlobs(registries registry.Options) (*blobcache.Cache, error) {
	blobs, err := blobcache.New(blobcache.Options{
		Options: registries, Dir: filepath.Join(s.o.DataDir, imagesDir), MaxBytes: s.o.ImageCacheSize,
		Unneeded: blobcache.Budget{Bytes: s.o.UnneededImageCacheSize},
	})
	if err != nil {
		return nil, fmt.Errorf("image cache: %w", err)
	}
	return blobs, nil
}

// checkDataDir: whoever owns the directory in which layers are cached decides what machines boot. It may have been made beforehand, by
// another user of this host.
func (s *Settings) checkDataDir() error {
	path := filepath.Join(s.o.DataDir, imagesDir)
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--data-dir: %w", ownership.Explain(path, err))
	}
	if err := errors.Join(ownership.Keep(dir), dir.Close()); err != nil {
		return fmt.Errorf("--data-dir: directory of layers %s: %w", path, err)
	}
	return nil
}
