package registry

import (
	"context"
	"slices"
	"strings"
)

// ArchitecturesFrom tells for which architectures a reference has an image, in the order of its index; none: it is one image, whatever machines it is for.
// digest is that of what the reference names. fetch is that of ResolveFrom.
func ArchitecturesFrom(ctx context.Context, ref Reference, fetch func(ctx context.Context, version string) (mediaType string, body []byte, err error)) (digest string, architectures []string, err error) {
	m, digest, err := fetchManifest(ctx, ref, ref.Version(), fetch)
	if err != nil || !m.isIndex() {
		return digest, nil, err
	}
	return digest, m.architectures(), nil
}

// architectures are those that forArchitecture finds something for. What tools put beside images, such as attestations, is for "unknown".
func (m manifest) architectures() []string {
	var found []string
	for _, entry := range m.Manifests {
		name := ""
		if strings.HasPrefix(entry.Annotations["cname"], legacyName) {
			name = entry.Annotations["architecture"]
		} else if entry.Platform != nil {
			name = entry.Platform.Architecture
		}
		if name = canonicalArchitecture(name); name != "" && name != "unknown" && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// CanonicalArchitecture is the name that OCI has for an architecture (that of GOARCH), for the names that firmware and Linux give.
func CanonicalArchitecture(name string) string { return canonicalArchitecture(name) }
