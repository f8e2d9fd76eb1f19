package registry

import (
	"fmt"
	"strings"
)

// Layer is one blob of an image.
type Layer struct {
	Digest    string
	MediaType string
	Size      int64
}

// Plan is what an image offers a machine to boot from. A layer that the image
// does not have is nil. A Plan is never changed once it is made.
type Plan struct {
	Registry   string
	Repository string
	// Tag is the tag that was asked for, empty when the reference names a digest.
	Tag string
	// Digest is that of the image's own manifest: of the one for the machine's
	// architecture where the reference leads to an index.
	Digest string

	Kernel    *Layer
	Initramfs *Layer
	Squashfs  *Layer
	UKI       *Layer
}

// Layers returns those that the image has.
func (p Plan) Layers() []Layer {
	var layers []Layer
	for _, layer := range []*Layer{p.Kernel, p.Initramfs, p.Squashfs, p.UKI} {
		if layer != nil {
			layers = append(layers, *layer)
		}
	}
	return layers
}

// IPXE reports whether the image can be booted by an iPXE script.
func (p Plan) IPXE() bool { return p.Kernel != nil && p.Initramfs != nil }

// HTTP reports whether the image can be booted by UEFI HTTP.
func (p Plan) HTTP() bool { return p.UKI != nil }

// Version returns what the image's URLs say: the tag that was asked for, else
// the digest.
func (p Plan) Version() string {
	if p.Tag != "" {
		return p.Tag
	}
	return p.Digest
}

// Equal reports whether plans name the same manifest of the same image.
func (p Plan) Equal(other Plan) bool {
	return p.Registry == other.Registry && p.Repository == other.Repository &&
		p.Tag == other.Tag && p.Digest == other.Digest
}

// ErrMissingLayer reports an image without a layer that a machine needs to boot
// from it.
type ErrMissingLayer struct {
	Image string
	Layer string // kernel or initramfs
}

// Error names the layer, and what would do instead. The caller names the image.
func (e ErrMissingLayer) Error() string {
	return fmt.Sprintf("no %s layer (%s) and no UKI layer (%s)",
		e.Layer, strings.Join(layerTypes(e.Layer), " or "), strings.Join(ukiTypes, " or "))
}

// Media types of the layers that machines boot from; the older names are
// those of Garden Linux images.
var (
	kernelTypes    = []string{"application/vnd.ironcore.image.kernel", "application/io.gardenlinux.kernel"}
	initramfsTypes = []string{"application/vnd.ironcore.image.initramfs", "application/io.gardenlinux.initrd"}
	squashfsTypes  = []string{"application/vnd.ironcore.image.squashfs", "application/io.gardenlinux.squashfs"}
	ukiTypes       = []string{"application/vnd.ironcore.image.uki"}
)

const (
	layerKernel    = "kernel"
	layerInitramfs = "initramfs"
)

func layerTypes(layer string) []string {
	if layer == layerInitramfs {
		return initramfsTypes
	}
	return kernelTypes
}

// plan chooses the boot layers of an image. Images of other media types are
// fine as long as a machine can boot: a UKI alone does, and so do kernel and
// initramfs.
func (i Image) plan() (Plan, error) {
	p := Plan{
		Registry:   i.Ref.Registry,
		Repository: i.Ref.Repository,
		Digest:     i.Digest,
		Kernel:     findLayer(i.Layers, kernelTypes),
		Initramfs:  findLayer(i.Layers, initramfsTypes),
		Squashfs:   findLayer(i.Layers, squashfsTypes),
		UKI:        findLayer(i.Layers, ukiTypes),
	}
	if i.Ref.Digest == "" {
		p.Tag = i.Ref.Tag
	}
	switch {
	case p.HTTP() || p.IPXE():
		return p, nil
	case p.Kernel == nil:
		return Plan{}, ErrMissingLayer{Image: i.Ref.String(), Layer: layerKernel}
	default:
		return Plan{}, ErrMissingLayer{Image: i.Ref.String(), Layer: layerInitramfs}
	}
}

// findLayer returns the first layer of exactly one of the types, else the
// first whose type continues one of them after a dot: images qualify types
// with versions (…squashfs.v1alpha1.squashfs).
func findLayer(layers []Layer, types []string) *Layer {
	for _, want := range types {
		for _, layer := range layers {
			if layer.MediaType == want {
				return &layer
			}
		}
	}
	for _, want := range types {
		for _, layer := range layers {
			if strings.HasPrefix(layer.MediaType, want+".") {
				return &layer
			}
		}
	}
	return nil
}

// LayerNamed returns the layer that a client asks for by name: by its exact
// media type, else the first whose media type contains the name.
func LayerNamed(layers []Layer, name string) (Layer, bool) {
	for _, layer := range layers {
		if layer.MediaType == name {
			return layer, true
		}
	}
	for _, layer := range layers {
		if strings.Contains(layer.MediaType, name) {
			return layer, true
		}
	}
	return Layer{}, false
}
