package bootimage

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

func image() Image {
	return Image{
		Architecture: "arm64", Annotations: map[string]string{"b": "2", "a": "1"},
		Layers: []Layer{Bytes(KernelType, "vmlinuz", []byte("kernel")), Bytes(InitramfsType, "initramfs", []byte("initramfs")), Bytes(UKIType, "uki.efi", []byte("uki"))},
	}
}

func open(t *testing.T, name string, create bool) Place {
	t.Helper()
	place, err := Open(t.Context(), name, Options{PlainHTTP: true, Client: http.DefaultClient}, create)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

func push(t *testing.T, name string, i Image) string {
	t.Helper()
	digest, err := open(t, name, true).Push(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestPush: the same image has one digest in a registry and in a layout, is found again in both, and is what package registry understands.
func TestPush(t *testing.T) {
	local, err := localregistry.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Stop() })
	folder := filepath.Join(t.TempDir(), "layout")
	var digests []string
	for _, name := range []string{local.Reference("farrier/probe", "1"), "oci:" + folder + ":1"} {
		digests = append(digests, push(t, name, image()), push(t, name, image()))
		place := open(t, name, false)
		found, err := place.Find(t.Context(), "arm64")
		if err != nil {
			t.Fatal(err)
		}
		plan, err := found.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if plan.Kernel == nil || plan.Initramfs == nil || plan.UKI == nil || plan.Squashfs != nil {
			t.Errorf("%s: plan %+v", name, plan)
		}
		digests = append(digests, plan.Digest)
		content, err := place.Read(t.Context(), *plan.Kernel)
		if err != nil || string(content) != "kernel" {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	for _, digest := range digests {
		if digest != digests[0] {
			t.Errorf("digests %q", digests)
		}
	}
	client, err := registry.NewClient(registry.Options{AllowedRegistries: []string{local.Address()}, PlainHTTP: []string{local.Address()}}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	ref, err := registry.ParseReference(local.Reference("farrier/probe", "1"))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := client.Resolve(t.Context(), client.Anonymous, ref, "arm64")
	if err != nil || resolved.Digest != digests[0] {
		t.Errorf("package registry finds %+v, %v", resolved, err)
	}
	if _, err := open(t, "oci:"+folder+":2", false).Find(t.Context(), "arm64"); err == nil {
		t.Error("a tag that is not there was found")
	}
	changed := image()
	changed.Annotations["a"] = "another"
	if push(t, "oci:"+folder+":1", changed) == digests[0] {
		t.Error("another image has the same digest")
	}
}

// What other tools read of a layout: the platform, and the name of each file.
func TestLayout(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "layout")
	push(t, "oci:"+folder+":1", image())
	var index ocispec.Index
	read(t, filepath.Join(folder, ocispec.ImageIndexFile), &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Platform == nil || index.Manifests[0].Platform.Architecture != "arm64" || index.Manifests[0].Annotations[ocispec.AnnotationRefName] != "1" {
		t.Fatalf("index: %+v", index)
	}
	var manifest ocispec.Manifest
	read(t, filepath.Join(folder, "blobs", "sha256", index.Manifests[0].Digest.Encoded()), &manifest)
	var titles []string
	for _, layer := range manifest.Layers {
		titles = append(titles, layer.Annotations[ocispec.AnnotationTitle])
	}
	if diff := cmp.Diff([]string{"vmlinuz", "initramfs", "uki.efi"}, titles); diff != "" {
		t.Errorf("titles (-want +got):\n%s", diff)
	}
	var config ocispec.Image
	read(t, filepath.Join(folder, "blobs", "sha256", manifest.Config.Digest.Encoded()), &config)
	if config.OS != "linux" || config.Architecture != "arm64" || config.Created != nil {
		t.Errorf("configuration: %+v", config)
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatal(err)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "vmlinuz")
	if _, err := File(KernelType, "vmlinuz", file); err == nil {
		t.Error("a file that is not there was taken")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := File(KernelType, "vmlinuz", file); err == nil {
		t.Error("an empty file was taken")
	}
	if _, err := File(KernelType, "vmlinuz", dir); err == nil {
		t.Error("a folder was taken")
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte("k"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	layer, err := File(KernelType, "vmlinuz", file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Bytes(KernelType, "vmlinuz", bytes.Repeat([]byte("k"), 100)).descriptor, layer.descriptor); diff != "" {
		t.Errorf("(-bytes +file):\n%s", diff)
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, "oci:"+filepath.Join(dir, "layout"), true).Push(t.Context(), Image{Layers: []Layer{layer}}); err == nil {
		t.Error("a file that changed meanwhile was pushed")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct{ image, want string }{
		"no layout":     {"oci:" + dir, "not an OCI image layout"},
		"a bad tag":     {"oci:" + dir + ":!", "tag"},
		"a bad name":    {"Registry.example/UPPER", "lower case"},
		"a URL":         {"https://registry.example/x", "scheme"},
		"no name there": {"", "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(t.Context(), tc.image, Options{}, false); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	place := open(t, "registry.example/x@sha256:"+strings.Repeat("0", 64), true)
	if _, err := place.Push(t.Context(), image()); err == nil || !strings.Contains(err.Error(), "want a tag") {
		t.Errorf("push to a digest: %v", err)
	}
}
