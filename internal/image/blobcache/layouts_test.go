package blobcache

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// TestBlobsOfALayout: a boot server gives what is in a folder of layouts as it gives images of registries, verified, and nothing else of the folder.
func TestBlobsOfALayout(t *testing.T) {
	folder := t.TempDir()
	place, err := bootimage.Open(t.Context(), "oci:"+filepath.Join(folder, "os")+":1", bootimage.Options{}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Push(t.Context(), bootimage.Image{Architecture: "amd64", Layers: []bootimage.Layer{
		bootimage.Bytes(bootimage.KernelType, "vmlinuz", []byte("the kernel")), bootimage.Bytes(bootimage.InitramfsType, "initramfs", []byte("initramfs")),
	}}); err != nil {
		t.Fatal(err)
	}
	image, err := place.Find(t.Context(), "amd64")
	if err != nil {
		t.Fatal(err)
	}
	plan := image.Offer()
	plan.Registry, plan.Repository, plan.Tag = registry.LayoutRegistry, "os", "1"
	blob := func(l registry.Layer) string {
		return filepath.Join(folder, "os", "blobs", "sha256", strings.TrimPrefix(l.Digest, "sha256:"))
	}
	if err := os.WriteFile(blob(*plan.Initramfs), []byte("INITRAMFS"), 0o600); err != nil { // as long as it was
		t.Fatal(err)
	}
	s := startBlobs(t, Options{Options: registry.Options{Layouts: map[string]string{registry.LayoutRegistry: folder}}})
	kernel := registry.LayerURL(s.URL, plan, *plan.Kernel)
	for range 2 { // from the folder, and from the cache
		if got := get(t, kernel); got.Status != http.StatusOK || string(got.Body) != "the kernel" {
			t.Errorf("kernel: %d %q", got.Status, got.Body)
		}
		if err := os.RemoveAll(blob(*plan.Kernel)); err != nil {
			t.Fatal(err)
		}
	}
	if got := get(t, registry.LayerURL(s.URL, plan, *plan.Initramfs)); got.Status == http.StatusOK && got.Err == nil {
		t.Errorf("what is not what its name says was given: %q", got.Body)
	}
	for name, address := range map[string]string{
		"no blob":          registry.LayerURL(s.URL, plan, registry.Layer{Digest: "sha256:" + strings.Repeat("0", 64)}),
		"no layout":        s.URL + "/image?imageName=layouts.localhost/other&version=1&layerName=kernel",
		"a way out":        s.URL + "/image?imageName=layouts.localhost/../../etc&version=1&layerName=kernel",
		"another registry": s.URL + "/image?imageName=discovery.localhost/os&version=1&layerName=kernel",
	} {
		if got := get(t, address); got.Status != http.StatusNotFound && got.Status != http.StatusBadRequest && got.Status != http.StatusForbidden || strings.Contains(string(got.Body), folder) {
			t.Errorf("%s: %d %q", name, got.Status, got.Body)
		}
	}
}
