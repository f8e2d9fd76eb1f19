package localregistry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func start(t *testing.T, middleware ...Middleware) *Registry {
	t.Helper()
	r, err := Start(t.Context(), "127.0.0.1:0", middleware...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func digestOf(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func TestPush(t *testing.T) {
	for name, docker := range map[string]bool{"OCI": false, "Docker": true} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			image := Image{
				Kernel: []byte("k"), Initramfs: []byte("i"), Squashfs: []byte("s"), UKI: []byte("u"),
				Others: []Layer{{"application/vnd.example.dtb", []byte("d")}},
				Docker: docker,
			}
			pushed, err := r.Push(t.Context(), "org/os", "v1", image)
			if err != nil {
				t.Fatal(err)
			}
			want := Pushed{
				Reference: r.Address() + "/org/os:v1",
				Digest:    pushed.Digest,
				Kernel:    digestOf(image.Kernel),
				Initramfs: digestOf(image.Initramfs),
				Squashfs:  digestOf(image.Squashfs),
				UKI:       digestOf(image.UKI),
				Others:    []string{digestOf([]byte("d"))},
			}
			if diff := cmp.Diff(want, pushed); diff != "" {
				t.Errorf("pushed (-want +got):\n%s", diff)
			}
			manifest := pull(t, pushed.Reference)
			got := map[string]string{}
			for _, layer := range manifest.Layers {
				got[string(layer.MediaType)] = layer.Digest.String()
			}
			wantLayers := map[string]string{
				KernelType: pushed.Kernel, InitramfsType: pushed.Initramfs, SquashfsType: pushed.Squashfs, UKIType: pushed.UKI,
				"application/vnd.example.dtb": pushed.Others[0],
			}
			if diff := cmp.Diff(wantLayers, got); diff != "" {
				t.Errorf("layers (-want +got):\n%s", diff)
			}
		})
	}
}

func pull(t *testing.T, reference string) *v1.Manifest {
	t.Helper()
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

func status(t *testing.T, r *Registry, path string) (int, error) {
	t.Helper()
	resp, err := http.Get("http://" + r.Address() + path)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func TestCountsAndWithdrawal(t *testing.T) {
	r := start(t)
	image := Image{Kernel: []byte("kernel")}
	pushed, err := r.Push(t.Context(), "os", "v1", image)
	if err != nil {
		t.Fatal(err)
	}
	if counts := r.Counts(); counts != (Counts{}) {
		t.Errorf("counts after a push: %+v", counts)
	}
	expect := func(path string, want int) {
		t.Helper()
		if got, err := status(t, r, path); err != nil || got != want {
			t.Errorf("%s: status %d, %v; want %d", path, got, err, want)
		}
	}
	expect("/v2/os/manifests/v1", 200)
	expect("/v2/os/blobs/"+pushed.Kernel, 200)
	if diff := cmp.Diff(Counts{Manifests: 1, Blobs: 1, BlobBytes: 6}, r.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if err := r.Withdraw(t.Context(), "os", "v1"); err != nil {
		t.Fatal(err)
	}
	expect("/v2/os/manifests/v1", 404)
	expect("/v2/os/manifests/"+pushed.Digest, 200)
	if err := r.WithdrawDigest(t.Context(), "os", pushed.Digest); err != nil {
		t.Fatal(err)
	}
	expect("/v2/os/manifests/"+pushed.Digest, 404)
}

func TestAwayAndStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Start(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.SetAway(true)
	if got, err := status(t, r, "/v2/"); err == nil {
		t.Errorf("status %d while away", got)
	}
	// A push goes on: it is the registry's owner who does it.
	if _, err := r.Push(ctx, "os", "v1", Image{Kernel: []byte("k")}); err != nil {
		t.Error(err)
	}
	r.SetAway(false)
	if got, err := status(t, r, "/v2/"); got != 200 || err != nil {
		t.Errorf("status %d, %v", got, err)
	}
	cancel()
	<-r.served
	if _, err := status(t, r, "/v2/"); err == nil {
		t.Error("it answers after its context has ended")
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := Start(t.Context(), "192.0.2.1:1"); err == nil {
		t.Error("an address that is not ours was taken")
	}
}

func TestSmallImagesFollowFromTheirSeed(t *testing.T) {
	a, again, b := SmallImage(1), SmallImage(1), SmallImage(2)
	if !bytes.Equal(a.Kernel, again.Kernel) || !bytes.Equal(a.Initramfs, again.Initramfs) || !bytes.Equal(a.Squashfs, again.Squashfs) {
		t.Error("the same seed gives two images")
	}
	if bytes.Equal(a.Kernel, b.Kernel) || bytes.Equal(a.Initramfs, b.Initramfs) || bytes.Equal(a.Squashfs, b.Squashfs) {
		t.Error("two seeds give the same layer")
	}
	for name, tt := range map[string]struct {
		content, magic []byte
		offset, size   int
	}{
		"kernel":    {a.Kernel, []byte("HdrS"), 0x202, kernelSize},
		"initramfs": {a.Initramfs, []byte("070701"), 0, initramfsSize},
		"squashfs":  {a.Squashfs, []byte("hsqs"), 0, squashfsSize},
		"uki":       {SmallUKI(1).UKI, []byte("PE\x00\x00\x64\x86"), 0x80, ukiSize},
	} {
		if len(tt.content) != tt.size || !bytes.HasPrefix(tt.content[tt.offset:], tt.magic) {
			t.Errorf("%s: %d bytes, %q at its mark", name, len(tt.content), tt.content[tt.offset:tt.offset+8])
		}
	}
}
