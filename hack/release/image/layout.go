package image

import (
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/farrier-dev/farrier/hack/release/program"
	"github.com/farrier-dev/farrier/hack/release/sbom"
	"github.com/farrier-dev/farrier/hack/release/source"
)

// referenceName is the annotation by which tools find an image in a layout.
const referenceName = "org.opencontainers.image.ref.name"

// Write writes the image for all platforms into a folder, as a layout with the tag of the version, and returns the digest of its index. Bills of materials
// are beside it in the layout: each refers to the image of its platform, as OCI registries list referrers.
func (i Image) Write(s source.Source, builds map[program.Platform]map[string]string, folder string) (v1.Hash, error) {
	if err := os.RemoveAll(folder); err != nil {
		return v1.Hash{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var bills []v1.Image
	for _, p := range program.Platforms {
		built := builds[p]
		if built == nil || p.OS != "linux" {
			continue
		}
		img, err := i.build(s, p, built)
		if err != nil {
			return v1.Hash{}, err
		}
		platform := v1.Platform{OS: p.OS, Architecture: p.Arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &platform}})
		bill, err := i.bill(s, img, built)
		if err != nil {
			return v1.Hash{}, err
		}
		bills = append(bills, bill)
	}
	index, ok := mutate.Annotations(index, i.annotations(s)).(v1.ImageIndex)
	if !ok {
		return v1.Hash{}, fmt.Errorf("image %s: annotations made no index of it", i.Name)
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{referenceName: s.Plain()})); err != nil {
		return v1.Hash{}, err
	}
	for _, bill := range bills {
		if err := path.AppendImage(bill); err != nil {
			return v1.Hash{}, err
		}
	}
	return index.Digest()
}

// bill makes the bill of materials of an image an artifact that refers to it.
func (i Image) bill(s source.Source, img v1.Image, built map[string]string) (v1.Image, error) {
	var programs []string
	for _, name := range i.Programs {
		programs = append(programs, built[name])
	}
	text, err := sbom.Of(sbom.Subject{Name: i.Name, Version: s.Version, Time: s.Time, Image: true, Files: map[string]string{rootsModule: rootsVersion()}}, programs...)
	if err != nil {
		return nil, err
	}
	of, err := descriptor(img)
	if err != nil {
		return nil, err
	}
	// An artifact is told by the media type of its config (image-spec 1.1, "Guidelines for Artifact Usage"), which says what the only layer is.
	artifact := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbom.MediaType)
	if artifact, err = mutate.Append(artifact, mutate.Addendum{Layer: static.NewLayer(text, sbom.MediaType), MediaType: sbom.MediaType}); err != nil {
		return nil, err
	}
	bill, ok := mutate.Subject(artifact, of).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("image %s: a subject made no artifact of its bill of materials", i.Name)
	}
	return bill, nil
}

func descriptor(img v1.Image) (v1.Descriptor, error) {
	digest, err := img.Digest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	size, err := img.Size()
	if err != nil {
		return v1.Descriptor{}, err
	}
	return v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: digest, Size: size}, nil
}
