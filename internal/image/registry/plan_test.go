package registry

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testLayers(types ...string) []Layer {
	var layers []Layer
	for i, mediaType := range types {
		layers = append(layers, Layer{Digest: "sha256:" + strings.Repeat(string(rune('a'+i)), 64), MediaType: mediaType, Size: int64(i)})
	}
	return layers
}

func TestPlanChoosesLayers(t *testing.T) {
	const config = "application/vnd.oci.image.layer.v1.tar"
	for _, tt := range []struct {
		name    string
		types   []string
		want    map[string]string // layer: media type
		missing string
	}{
		{
			name:  "current types",
			types: []string{config, "application/vnd.ironcore.image.squashfs", "application/vnd.ironcore.image.kernel", "application/vnd.ironcore.image.initramfs"},
			want:  map[string]string{"kernel": "application/vnd.ironcore.image.kernel", "initramfs": "application/vnd.ironcore.image.initramfs", "squashfs": "application/vnd.ironcore.image.squashfs"},
		},
		{
			name:  "older types",
			types: []string{"application/io.gardenlinux.kernel", "application/io.gardenlinux.initrd", "application/io.gardenlinux.squashfs"},
			want:  map[string]string{"kernel": "application/io.gardenlinux.kernel", "initramfs": "application/io.gardenlinux.initrd", "squashfs": "application/io.gardenlinux.squashfs"},
		},
		{
			name:  "no squashfs",
			types: []string{"application/vnd.ironcore.image.kernel", "application/vnd.ironcore.image.initramfs"},
			want:  map[string]string{"kernel": "application/vnd.ironcore.image.kernel", "initramfs": "application/vnd.ironcore.image.initramfs"},
		},
		{
			name:  "qualified types",
			types: []string{"application/vnd.ironcore.image.kernel.v1", "application/vnd.ironcore.image.initramfs.v1", "application/vnd.ironcore.image.squashfs.v1alpha1.squashfs"},
			want:  map[string]string{"kernel": "application/vnd.ironcore.image.kernel.v1", "initramfs": "application/vnd.ironcore.image.initramfs.v1", "squashfs": "application/vnd.ironcore.image.squashfs.v1alpha1.squashfs"},
		},
		{
			name:  "exact before qualified, wherever it stands",
			types: []string{"application/vnd.ironcore.image.uki.v2", "application/vnd.ironcore.image.uki"},
			want:  map[string]string{"uki": "application/vnd.ironcore.image.uki"},
		},
		{
			name:  "UKI alone",
			types: []string{config, "application/vnd.ironcore.image.uki"},
			want:  map[string]string{"uki": "application/vnd.ironcore.image.uki"},
		},
		{
			name:  "UKI beside half an iPXE image",
			types: []string{"application/vnd.ironcore.image.kernel", "application/vnd.ironcore.image.uki"},
			want:  map[string]string{"kernel": "application/vnd.ironcore.image.kernel", "uki": "application/vnd.ironcore.image.uki"},
		},
		{name: "no initramfs", types: []string{"application/vnd.ironcore.image.kernel", "application/vnd.ironcore.image.squashfs"}, missing: "initramfs"},
		{name: "no kernel", types: []string{"application/vnd.ironcore.image.initramfs"}, missing: "kernel"},
		{name: "no boot layer", types: []string{config}, missing: "kernel"},
		{name: "no layer", missing: "kernel"},
		{name: "type that only begins alike", types: []string{"application/vnd.ironcore.image.kernelx", "application/vnd.ironcore.image.initramfs"}, missing: "kernel"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ref := Reference{Registry: "ghcr.io", Repository: "org/os", Tag: "v1"}
			plan, err := Image{Ref: ref, Digest: testDigest, Layers: testLayers(tt.types...)}.Plan()
			if tt.missing != "" {
				missing, ok := errors.AsType[ErrMissingLayer](err)
				if !ok || missing.Layer != tt.missing {
					t.Fatalf("error %v, want one about layer %s", err, tt.missing)
				}
				if text := err.Error(); missing.Image != "ghcr.io/org/os:v1" || !strings.Contains(text, "no "+tt.missing+" layer") {
					t.Errorf("error %q about %s does not name image and layer", text, missing.Image)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for name, layer := range map[string]*Layer{"kernel": plan.Kernel, "initramfs": plan.Initramfs, "squashfs": plan.Squashfs, "uki": plan.UKI} {
				if layer != nil {
					got[name] = layer.MediaType
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("layers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLayerNamed(t *testing.T) {
	layers := testLayers("application/x.kernel.old", "application/x.kernel", "application/x.squashfs")
	for name, want := range map[string]string{
		"application/x.kernel": "application/x.kernel",
		"kernel":               "application/x.kernel.old",
		"squashfs":             "application/x.squashfs",
		"initrd":               "",
	} {
		got, ok := LayerNamed(layers, name)
		if ok != (want != "") || got.MediaType != want {
			t.Errorf("%q gives %q, want %q", name, got.MediaType, want)
		}
	}
}

func TestURLs(t *testing.T) {
	layer := Layer{Digest: testDigest}
	hex := strings.TrimPrefix(testDigest, "sha256:")
	tagged := Plan{Registry: "ghcr.io", Repository: "org/os", Tag: "v1", Digest: testDigest, UKI: &layer}
	pinned := Plan{Registry: "[::1]:5000", Repository: "os", Digest: testDigest, UKI: &layer}
	port := Plan{Registry: "127.0.0.1:5000", Repository: "a/b", Tag: "v1", Digest: testDigest, UKI: &layer}
	for _, tt := range []struct{ name, got, want string }{
		{"layer by tag", LayerURL("http://10.0.0.1:8082", tagged, layer),
			"http://10.0.0.1:8082/image?imageName=ghcr.io%2Forg%2Fos&layerDigest=sha256%3A" + hex + "&version=v1"},
		{"layer by digest", LayerURL("http://10.0.0.1:8082/", pinned, layer),
			"http://10.0.0.1:8082/image?imageName=%5B%3A%3A1%5D%3A5000%2Fos&layerDigest=sha256%3A" + hex + "&version=sha256%3A" + hex},
		{"UKI", UKIURL("http://10.0.0.1:8082", tagged), "http://10.0.0.1:8082/httpboot/ghcr.io/org/os/sha256-" + hex + ".efi"},
		{"UKI of a registry with a port", UKIURL("http://10.0.0.1:8082/", port), "http://10.0.0.1:8082/httpboot/127.0.0.1:5000/a/b/sha256-" + hex + ".efi"},
		{"no UKI", UKIURL("http://10.0.0.1:8082", Plan{Registry: "ghcr.io", Repository: "org/os"}), ""},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, plan := range []Plan{tagged, pinned, port} {
		parsed, err := url.Parse(UKIURL("http://h", plan))
		if err != nil {
			t.Fatal(err)
		}
		ref, digest, err := parseFilePath(parsed.Path)
		if err != nil || digest != testDigest || ref.Registry != plan.Registry || ref.Repository != plan.Repository {
			t.Errorf("%s is read as %+v, %s, %v", parsed, ref, digest, err)
		}
	}
}
