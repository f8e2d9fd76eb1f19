package discovery

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// annotationPCR11 of an image is the value of PCR 11 that its UKI leads to.
const annotationPCR11 = "dev.farrier.image.pcr11.sha256"

// Names of the files in an image.
const (
	KernelFile    = "vmlinuz"
	InitramfsFile = "initramfs.cpio.zst"
	UKIFile       = "discovery.efi"
)

// OCI is the image as it is pushed.
func (i Image) OCI() bootimage.Image {
	image := bootimage.Image{
		Architecture: i.Architecture,
		Annotations: map[string]string{
			ocispec.AnnotationTitle: "Farrier discovery", ocispec.AnnotationVersion: i.Version, registry.AnnotationDiscovery: i.KernelVersion,
		},
		Layers: []bootimage.Layer{
			bootimage.Bytes(bootimage.KernelType, KernelFile, i.Kernel), bootimage.Bytes(bootimage.InitramfsType, InitramfsFile, i.Initramfs),
		},
	}
	if i.UKI != nil {
		image.Layers = append(image.Layers, bootimage.Bytes(bootimage.UKIType, UKIFile, i.UKI))
		image.Annotations[annotationPCR11] = i.PCR11
	}
	return image
}

// Store makes the image the only one of an OCI image layout. It is complete before it takes the place of the one that was there; of both, nothing is left
// where that fails.
func (i Image) Store(ctx context.Context, folder, tag string) (digest string, err error) {
	next := folder + ".new"
	if err := os.RemoveAll(next); err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(next) }()
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return "", err
	}
	place, err := bootimage.Open(ctx, "oci:"+next+":"+tag, bootimage.Options{}, true)
	if err != nil {
		return "", err
	}
	if digest, err = place.Push(ctx, i.OCI()); err != nil {
		return "", err
	}
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	if err := os.Rename(next, folder); err != nil {
		return "", fmt.Errorf("discovery image: %w", err)
	}
	return digest, nil
}
