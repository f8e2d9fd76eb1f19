package registry_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/layout"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// laidOut is a folder with one layout, os, and a client that has it.
func laidOut(t *testing.T) (folder string, client *registry.Client) {
	t.Helper()
	folder = t.TempDir()
	place, err := bootimage.Open(t.Context(), "oci:"+filepath.Join(folder, "os")+":1", bootimage.Options{}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Push(t.Context(), bootimage.Image{Architecture: "amd64", Layers: []bootimage.Layer{
		bootimage.Bytes(bootimage.KernelType, "vmlinuz", []byte("the kernel")), bootimage.Bytes(bootimage.InitramfsType, "initramfs", []byte("initramfs")),
	}}); err != nil {
		t.Fatal(err)
	}
	return folder, newClient(t, registry.Options{Layouts: map[string]string{registry.LayoutRegistry: folder}})
}

func newClient(t *testing.T, o registry.Options) *registry.Client {
	t.Helper()
	client, err := registry.NewClient(o.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func find(ctx context.Context, client *registry.Client, reference string) (registry.Plan, error) {
	ref, err := registry.ParseReference(reference)
	if err != nil {
		return registry.Plan{}, err
	}
	image, err := client.Resolve(ctx, client.Anonymous, ref, "amd64")
	if err != nil {
		return registry.Plan{}, err
	}
	return image.Plan()
}

// A folder of layouts answers like a registry, from the middle of a blob too.
func TestLayoutsAreARegistry(t *testing.T) {
	_, client := laidOut(t)
	plan, err := find(t.Context(), client, "layouts.localhost/os:1")
	if err != nil {
		t.Fatal(err)
	}
	if got := registry.LayerURL("http://boot", plan, *plan.Kernel); !strings.HasPrefix(got, "http://boot/image?imageName=layouts.localhost%2Fos&layerDigest=sha256%3A") {
		t.Errorf("URL %s", got)
	}
	ref := registry.Reference{Registry: plan.Registry, Repository: plan.Repository, Digest: plan.Digest}
	for _, upstream := range []*registry.Client{client, client.ForStrangers()} {
		size, err := upstream.BlobSize(t.Context(), upstream.Anonymous, ref, plan.Kernel.Digest)
		if err != nil || size != plan.Kernel.Size {
			t.Errorf("size %d, %v", size, err)
		}
		opened, err := upstream.Blob(t.Context(), upstream.Anonymous, registry.BlobPart{Ref: ref, Digest: plan.Kernel.Digest, Offset: 4, Size: size})
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(opened)
		if err != nil || string(content[opened.Skip:]) != "kernel" || opened.Size != size {
			t.Errorf("%q of %d, %v", content, opened.Size, err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Without the folder nobody asks the network for the name.
func TestLayoutsNeedAFolder(t *testing.T) {
	client := newClient(t, registry.Options{})
	if _, err := find(t.Context(), client, "layouts.localhost/os:1"); !errors.Is(err, registry.ErrNotAllowed) {
		t.Errorf("%v", err)
	}
	_, client = laidOut(t)
	if _, err := find(t.Context(), client, "discovery.localhost/os:1"); !errors.Is(err, registry.ErrNotAllowed) {
		t.Errorf("another folder: %v", err)
	}
}

// What is wrong with a layout is known before a machine asks, and means what it would mean at a registry.
func TestLayoutsThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(blob string) error
		image  string
		means  error
		says   string
	}{
		"no layout":     {nil, "layouts.localhost/other:1", registry.ErrNotFound, "no file other/oci-layout"},
		"no tag":        {nil, "layouts.localhost/os:2", registry.ErrNotFound, `os/index.json has no tag "2"`},
		"a layer gone":  {os.Remove, "layouts.localhost/os:1", registry.ErrNotFound, "no file os/blobs/sha256/"},
		"half a layer":  {func(blob string) error { return os.Truncate(blob, 3) }, "layouts.localhost/os:1", registry.ErrCorrupt, "3 bytes, and the manifest says 10"},
		"nothing of it": {func(blob string) error { return os.Truncate(blob, 0) }, "layouts.localhost/os:1", registry.ErrCorrupt, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, client := laidOut(t)
			plan, err := find(t.Context(), client, "layouts.localhost/os:1")
			if err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				if err := c.change(filepath.Join(folder, "os", "blobs", "sha256", strings.TrimPrefix(plan.Kernel.Digest, "sha256:"))); err != nil {
					t.Fatal(err)
				}
			}
			_, err = find(t.Context(), client, c.image)
			if !errors.Is(err, c.means) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), folder) {
				t.Errorf("%v; want %v with %q, and no path of this host", err, c.means, c.says)
			}
		})
	}
}

// A boot server elsewhere has no folder, and is told to ask who shares it.
func TestASharedFolderIsAMirror(t *testing.T) {
	folder, _ := laidOut(t)
	shared, err := localregistry.StartLayouts(t.Context(), "127.0.0.1:0", layout.In(folder))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Stop() })
	client := newClient(t, registry.Options{
		AllowedRegistries: []string{registry.DiscoveryRegistry}, PlainHTTP: []string{shared.Address()},
		Mirrors: map[string][]string{registry.DiscoveryRegistry: {shared.Address()}},
	})
	plan, err := find(t.Context(), client, "discovery.localhost/os:1")
	if err != nil {
		t.Fatal(err)
	}
	ref := registry.Reference{Registry: plan.Registry, Repository: plan.Repository, Digest: plan.Digest}
	opened, err := client.Blob(t.Context(), client.Anonymous, registry.BlobPart{Ref: ref, Digest: plan.Kernel.Digest, Offset: 4, Size: plan.Kernel.Size})
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(opened)
	if err != nil || string(content[opened.Skip:]) != "kernel" || opened.Close() != nil {
		t.Errorf("%q, %v", content, err)
	}
}

// TestFoldersNeedNoSignature: whoever may write there decides what machines boot.
func TestFoldersNeedNoSignature(t *testing.T) {
	folder, _ := laidOut(t)
	client := newClient(t, registry.Options{Layouts: map[string]string{registry.LayoutRegistry: folder}, SignatureKeys: imagetest.NewSigner(t).Keys(t)})
	if _, err := find(t.Context(), client, "layouts.localhost/os:1"); err != nil {
		t.Error(err)
	}
}
