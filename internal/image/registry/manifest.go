package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	dockerManifestType = "application/vnd.docker.distribution.manifest.v2+json"
	dockerListType     = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// manifestTypes is what is asked of a registry, which answers 404 for an
// image whose type is not in the list.
var manifestTypes = []string{ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex, dockerManifestType, dockerListType}

const (
	// maxManifest bounds a manifest: OCI distribution-spec v1.1 §"Pushing
	// manifests" asks registries to take 4 MiB.
	maxManifest = 4 << 20
	maxLayers   = 4096
)

// AnnotationDiscovery is on images that `farrier image build` makes, and has the version of their kernel. Farrier's agent is in such an image.
const AnnotationDiscovery = "dev.farrier.image.kernel"

// legacyName is how the name of a network-boot entry begins in indexes that
// tell their entries apart by annotations.
const legacyName = "metal_pxe"

var (
	// ErrInvalidManifest reports a manifest that cannot be used.
	ErrInvalidManifest = errors.New("invalid image manifest")
	// ErrNoArchitecture reports an index without an image for the machine.
	ErrNoArchitecture = errors.New("image has no manifest for architecture")
)

// manifest is the part of image manifests and indexes that matters here; OCI
// and Docker name it alike.
type manifest struct {
	MediaType string               `json:"mediaType"`
	Layers    []ocispec.Descriptor `json:"layers"`
	Manifests []ocispec.Descriptor `json:"manifests"`
	// Annotations are those of the manifest itself.
	Annotations map[string]string `json:"annotations"`
}

// decodeManifest reads a manifest that was fetched and verified.
func decodeManifest(mediaType string, body []byte) (manifest, error) {
	var m manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return manifest{}, fmt.Errorf("%w: %w", ErrInvalidManifest, err)
	}
	if m.MediaType == "" {
		m.MediaType = mediaType
	}
	// A document that could be read as either is refused, as the OCI image-spec
	// v1.1 (§"Image Manifest", GHSA-77vh-xpmg-72qh) demands: two readers of the
	// same digest must not see two images.
	index := m.isIndex()
	switch {
	case !slices.Contains(manifestTypes, m.MediaType):
		return manifest{}, fmt.Errorf("%w: unsupported type %q", ErrInvalidManifest, m.MediaType)
	case index && m.Layers != nil, !index && m.Manifests != nil:
		return manifest{}, fmt.Errorf("%w: it has both layers and manifests", ErrInvalidManifest)
	case len(m.Layers) > maxLayers, len(m.Manifests) > maxLayers:
		return manifest{}, fmt.Errorf("%w: it has more than %d entries", ErrInvalidManifest, maxLayers)
	}
	for _, entry := range slices.Concat(m.Layers, m.Manifests) {
		if !digestText.MatchString(entry.Digest.String()) {
			return manifest{}, fmt.Errorf("%w: entry with unsupported digest %q", ErrInvalidManifest, entry.Digest)
		}
		if entry.Size < 0 {
			return manifest{}, fmt.Errorf("%w: entry %s has a negative size", ErrInvalidManifest, entry.Digest)
		}
	}
	return m, nil
}

func (m manifest) isIndex() bool {
	return m.MediaType == ocispec.MediaTypeImageIndex || m.MediaType == dockerListType
}

func (m manifest) layers() []Layer {
	layers := make([]Layer, 0, len(m.Layers))
	for _, l := range m.Layers {
		layers = append(layers, Layer{Digest: l.Digest.String(), MediaType: l.MediaType, Size: l.Size})
	}
	return layers
}

// forArchitecture chooses an index's entry. An entry that is named for network
// boot wins: such indexes hold several images for the same platform.
func (m manifest) forArchitecture(architecture string) (ocispec.Descriptor, error) {
	var offered []string
	platform := -1
	for i, entry := range m.Manifests {
		name, has := entry.Annotations["cname"], canonicalArchitecture(entry.Annotations["architecture"])
		if strings.HasPrefix(name, legacyName) && has == architecture {
			return entry, nil
		}
		if entry.Platform == nil {
			continue
		}
		offered = append(offered, entry.Platform.Architecture)
		if platform < 0 && canonicalArchitecture(entry.Platform.Architecture) == architecture {
			platform = i
		}
	}
	if platform < 0 {
		return ocispec.Descriptor{}, fmt.Errorf("%w %s (it has: %s)", ErrNoArchitecture, architecture, strings.Join(offered, ", "))
	}
	return m.Manifests[platform], nil
}

// canonicalArchitecture returns the OCI name (that of GOARCH) for the names
// that firmware, Redfish (DSP0268 Processor.InstructionSet) and Linux give.
func canonicalArchitecture(name string) string {
	switch name = strings.ToLower(name); name {
	case "x86_64", "x86-64", "x64":
		return "amd64"
	case "aarch64", "arm-a64", "aa64":
		return "arm64"
	}
	return name
}
