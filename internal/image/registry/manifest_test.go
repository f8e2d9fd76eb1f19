package registry

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func testIndex(t *testing.T, entries ...ocispec.Descriptor) manifest {
	t.Helper()
	body, err := json.Marshal(ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: entries})
	if err != nil {
		t.Fatal(err)
	}
	m, err := decodeManifest("", body)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func entryOf(content, architecture string, annotations map[string]string) ocispec.Descriptor {
	d := ocispec.Descriptor{Digest: digest.FromString(content), Annotations: annotations}
	if architecture != "" {
		d.Platform = &ocispec.Platform{OS: "linux", Architecture: architecture}
	}
	return d
}

func TestForArchitecture(t *testing.T) {
	pxe := func(architecture string) map[string]string {
		return map[string]string{"cname": "metal_pxe-gardener_prod", "architecture": architecture}
	}
	platforms := []ocispec.Descriptor{
		entryOf("attestation", "unknown", nil),
		entryOf("amd64", "amd64", nil),
		entryOf("arm64", "arm64", nil),
		entryOf("arm64 again", "arm64", nil),
	}
	annotated := []ocispec.Descriptor{
		entryOf("kvm", "amd64", map[string]string{"cname": "kvm-gardener_prod", "architecture": "amd64"}),
		entryOf("pxe arm64", "", pxe("arm64")),
		entryOf("pxe amd64", "amd64", pxe("amd64")),
	}
	for _, tt := range []struct {
		name, architecture, want string
		entries                  []ocispec.Descriptor
	}{
		{"platform", "amd64", "amd64", platforms},
		{"first of a platform", "arm64", "arm64", platforms},
		{"Linux name", "x86_64", "amd64", platforms},
		{"Redfish name", "ARM-A64", "arm64", platforms},
		{"annotation before platform", "amd64", "pxe amd64", annotated},
		{"annotation without platform", "aarch64", "pxe arm64", annotated},
	} {
		got, err := testIndex(t, tt.entries...).forArchitecture(canonicalArchitecture(tt.architecture))
		if err != nil || got.Digest != digest.FromString(tt.want) {
			t.Errorf("%s: %s, %v; want the entry %q", tt.name, got.Digest, err, tt.want)
		}
	}
	_, err := testIndex(t, platforms...).forArchitecture("riscv64")
	if !errors.Is(err, ErrNoArchitecture) || !strings.Contains(err.Error(), "riscv64 (it has: unknown, amd64, arm64, arm64)") {
		t.Errorf("error %v", err)
	}
}

func TestDecodeManifestRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ mediaType, body, contains string }{
		"garbage":          {ocispec.MediaTypeImageManifest, "<html>", "invalid character"},
		"unknown type":     {"application/json", "{}", `unsupported type "application/json"`},
		"artifact type":    {"", `{"mediaType":"application/vnd.oci.artifact.manifest.v1+json"}`, "unsupported type"},
		"two readings":     {ocispec.MediaTypeImageManifest, `{"layers":[],"manifests":[]}`, "both layers and manifests"},
		"index as image":   {ocispec.MediaTypeImageIndex, `{"layers":[]}`, "both layers and manifests"},
		"no digest":        {ocispec.MediaTypeImageManifest, `{"layers":[{"size":1}]}`, `unsupported digest ""`},
		"other digest":     {ocispec.MediaTypeImageManifest, `{"layers":[{"digest":"sha512:` + strings.Repeat("0", 128) + `"}]}`, "unsupported digest"},
		"path as digest":   {ocispec.MediaTypeImageManifest, `{"layers":[{"digest":"sha256:../../etc/passwd"}]}`, "unsupported digest"},
		"negative size":    {ocispec.MediaTypeImageManifest, `{"layers":[{"digest":"` + testDigest + `","size":-1}]}`, "negative size"},
		"too many entries": {ocispec.MediaTypeImageManifest, `{"layers":[` + strings.Repeat(`{},`, maxLayers) + `{}]}`, "more than"},
	} {
		_, err := decodeManifest(tt.mediaType, []byte(tt.body))
		if !errors.Is(err, ErrInvalidManifest) || !strings.Contains(err.Error(), tt.contains) {
			t.Errorf("%s: error %v, want one that contains %q", name, err, tt.contains)
		}
	}
}

func FuzzDecodeManifest(f *testing.F) {
	f.Add(ocispec.MediaTypeImageManifest, `{"layers":[{"digest":"`+testDigest+`","size":1,"mediaType":"a"}]}`, "amd64")
	f.Add(ocispec.MediaTypeImageIndex, `{"manifests":[{"digest":"`+testDigest+`","platform":{"architecture":"amd64"}}]}`, "amd64")
	f.Add("", `{"mediaType":"`+dockerListType+`","manifests":[{"digest":"`+testDigest+`","annotations":{"cname":"metal_pxe","architecture":"arm64"}}]}`, "arm64")
	f.Fuzz(func(t *testing.T, mediaType, body, architecture string) {
		m, err := decodeManifest(mediaType, []byte(body))
		if err != nil {
			return
		}
		if m.isIndex() {
			_, _ = m.forArchitecture(canonicalArchitecture(architecture))
			return
		}
		for _, layer := range m.layers() {
			if !digestText.MatchString(layer.Digest) || layer.Size < 0 {
				t.Errorf("layer %+v", layer)
			}
		}
	})
}

// What an index offers is what forArchitecture finds, and nothing of what tools put beside images.
func TestArchitecturesOfAnIndex(t *testing.T) {
	entry := func(architecture string, annotations map[string]string) ocispec.Descriptor {
		d := ocispec.Descriptor{Annotations: annotations}
		if architecture != "" {
			d.Platform = &ocispec.Platform{OS: "linux", Architecture: architecture}
		}
		return d
	}
	m := manifest{Manifests: []ocispec.Descriptor{
		entry("x86_64", nil), entry("amd64", nil), entry("unknown", nil), entry("", nil), entry("", map[string]string{"cname": "metal_pxe-x", "architecture": "arm64"}),
		entry("", map[string]string{"cname": "kvm", "architecture": "riscv64"}),
	}}
	got := m.architectures()
	if want := []string{"amd64", "arm64"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, architecture := range got {
		if _, err := m.forArchitecture(architecture); err != nil {
			t.Error(err)
		}
	}
}
