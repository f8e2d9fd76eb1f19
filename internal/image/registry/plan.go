package registry

import (
	"fmt"
	"slices"
	"strings"
)

// Layer is one blob of an image.
type Layer struct {
	Digest    string `json:"digest"`
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
}

// Plan is what an image offers a machine to boot from. A layer that the image
// does not have is nil. A Plan is never changed once it is made.
type Plan struct {
	Registry   string `json:"registry"`
	Repository string `json:"repository"`
	// Tag is the tag that was asked for, empty when the reference names a digest.
	Tag string `json:"tag,omitempty"`
	// Digest is that of the image's own manifest: of the one for the machine's
	// architecture where the reference leads to an index.
	Digest string `json:"digest"`

	Kernel    *Layer `json:"kernel,omitempty"`
	Initramfs *Layer `json:"initramfs,omitempty"`
	Squashfs  *Layer `json:"squashfs,omitempty"`
	UKI       *Layer `json:"uki,omitempty"`

	// Discovery reports whether it is a discovery image of Farrier's, by AnnotationDiscovery.
	Discovery bool `json:"discovery,omitempty"`
}

// Layers returns those that the image has.
func (p Plan) Layers() []Layer {
	var layers []Layer
	for _, part := range p.parts() {
		if *part.layer != nil {
			layers = append(layers, **part.layer)
		}
	}
	return layers
}

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

// Media types of the layers that machines boot from; the older names are
// those of Garden Linux images.
var (
	kernelTypes    = []string{"application/vnd.ironcore.image.kernel", "application/io.gardenlinux.kernel"}
	initramfsTypes = []string{"application/vnd.ironcore.image.initramfs", "application/io.gardenlinux.initrd"}
	squashfsTypes  = []string{"application/vnd.ironcore.image.squashfs", "application/io.gardenlinux.squashfs"}
	ukiTypes       = []string{"application/vnd.ironcore.image.uki"}
)

// part is a kind of layer that machines boot from, and its place in a plan.
type part struct {
	name  string
	types []string
	layer **Layer
}

// parts is the table of the layers that machines boot from.
func (p *Plan) parts() []part {
	return []part{
		{"kernel", kernelTypes, &p.Kernel},
		{"initramfs", initramfsTypes, &p.Initramfs},
		{"squashfs", squashfsTypes, &p.Squashfs},
		{"UKI", ukiTypes, &p.UKI},
	}
}

func (p *Plan) part(name string) part {
	parts := p.parts()
	return parts[slices.IndexFunc(parts, func(part part) bool { return part.name == name })]
}

// Set names the layers that a machine needs together to boot from an image.
type Set []string

// The sets that machines boot from. An image has to hold one of them.
var (
	KernelSet = Set{"kernel", "initramfs"}
	UKISet    = Set{"UKI"}

	sets = []Set{KernelSet, UKISet}
)

// Has reports whether the image holds all layers of a set.
func (p Plan) Has(set Set) bool { return p.missing(set) == "" }

// missing is the first layer of a set that the image does not hold; empty: it holds all.
func (p Plan) missing(set Set) string {
	for _, name := range set {
		if *p.part(name).layer == nil {
			return name
		}
	}
	return ""
}

// ErrMissingLayer reports an image without a layer that a machine needs to boot
// from it.
type ErrMissingLayer struct {
	Image string
	Layer string // of the first set
}

// Error names the layer, and what would do instead. The caller names the image.
func (e ErrMissingLayer) Error() string {
	lacks := func(name string) string {
		return fmt.Sprintf("no %s layer (%s)", name, strings.Join(new(Plan).part(name).types, " or "))
	}
	text := lacks(e.Layer)
	for _, instead := range sets[1:] {
		text += " and " + lacks(instead[0])
	}
	return text
}

// Plan chooses the boot layers of an image. Images of other media types are
// fine as long as a machine can boot: a UKI alone does, and so do kernel and
// initramfs.
func (i Image) Plan() (Plan, error) {
	p := i.Offer()
	if !slices.ContainsFunc(sets, p.Has) {
		return Plan{}, ErrMissingLayer{Image: i.Ref.String(), Layer: p.missing(sets[0])}
	}
	return p, nil
}

// Offer is what an image has to boot from, whether or not it is enough.
func (i Image) Offer() Plan {
	p := Plan{Registry: i.Ref.Registry, Repository: i.Ref.Repository, Digest: i.Digest, Discovery: i.Discovery}
	for _, part := range p.parts() {
		*part.layer = findLayer(i.Layers, part.types)
	}
	if i.Ref.Digest == "" {
		p.Tag = i.Ref.Tag
	}
	return p
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
