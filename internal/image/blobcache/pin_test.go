package blobcache

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/test/await"
)

// planOf is what a Resolver would say of a pushed image.
func planOf(r *localregistry.Registry, repository string, image localregistry.Image, pushed localregistry.Pushed) registry.Plan {
	p := registry.Plan{Registry: r.Address(), Repository: repository, Digest: pushed.Digest}
	for _, l := range []struct {
		layer   **registry.Layer
		digest  string
		content []byte
	}{{&p.Kernel, pushed.Kernel, image.Kernel}, {&p.Initramfs, pushed.Initramfs, image.Initramfs}, {&p.Squashfs, pushed.Squashfs, image.Squashfs}} {
		if l.digest != "" {
			*l.layer = &registry.Layer{Digest: l.digest, Size: int64(len(l.content))}
		}
	}
	return p
}

func awaitStored(t *testing.T, b *Cache, p registry.Plan) {
	t.Helper()
	for _, layer := range p.Layers() {
		await.True(t, layer.Digest+" is fetched", func() bool { return b.store.has(layer.Digest) })
	}
}

// awaitUnread waits until the handlers have returned whose answers clients have read.
func awaitUnread(t *testing.T, b *Cache) {
	t.Helper()
	reading := func() bool {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		for _, blob := range b.store.blobs {
			if blob.readers > 0 {
				return true
			}
		}
		return false
	}
	await.True(t, "no blob is read any more", func() bool { return !reading() })
}

func TestNeededLayersAreThereBeforeAnybodyAsks(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	plan := planOf(remote, "org/os", image, pushed)
	for _, owner := range []string{"ns/one", "ns/two"} {
		if err := s.Pin(owner, registry.Pin{Plan: plan}); err != nil {
			t.Fatal(err)
		}
	}
	awaitStored(t, s.Cache, plan)
	remote.SetAway(true)
	for _, layer := range plan.Layers() {
		if got := get(t, s.layerURL(remote, layer.Digest)); got.Status != http.StatusOK {
			t.Errorf("%s: status %d: %s", layer.Digest, got.Status, got.Body)
		}
	}
	if n := remote.Counts().Blobs; n != 3 {
		t.Errorf("%d downloads of three layers that two machines need", n)
	}
}

func TestAHeadOfWhatIsNeededAsksNobody(t *testing.T) {
	g := imagetest.NewGate()
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		g.Pass(req.Context())
		next.ServeHTTP(w, req)
	}))
	t.Cleanup(g.Release)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	plan := planOf(remote, "org/os", image, pushed)
	if err := s.Pin("ns/one", registry.Pin{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	for _, layer := range plan.Layers() {
		got := request(t, http.MethodHead, s.layerURL(remote, layer.Digest), nil)
		if got.Status != http.StatusOK || got.Header.Get("Content-Length") != fmt.Sprint(layer.Size) {
			t.Errorf("status %d, length %s, want %d", got.Status, got.Header.Get("Content-Length"), layer.Size)
		}
	}
}

func TestNeededLayersStayAndOthersGo(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	images := map[string]localregistry.Image{}
	plans := map[string]registry.Plan{}
	for i, name := range []string{"needed", "first", "second"} {
		images[name] = localregistry.Image{Kernel: localregistry.SmallImage(uint64(i)).Kernel}
		plans[name] = planOf(remote, "org/os", images[name], imagetest.Push(t, remote, name, images[name]))
	}
	o := registryOptions(remote)
	o.MaxBytes = int64(len(images["needed"].Kernel)) * 2
	o.Unneeded.Bytes = o.MaxBytes
	s := startBlobs(t, o)
	if err := s.Pin("ns/one", registry.Pin{Plan: plans["needed"]}); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, s.Cache, plans["needed"])
	for _, name := range []string{"first", "second"} {
		if got := get(t, s.layerURL(remote, plans[name].Kernel.Digest)); got.Status != http.StatusOK {
			t.Fatalf("%s: status %d", name, got.Status)
		}
		awaitUnread(t, s.Cache)
	}
	for name, want := range map[string]bool{"needed": true, "first": false, "second": true} {
		if got := s.store.has(plans[name].Kernel.Digest); got != want {
			t.Errorf("%s: in the cache %t, want %t", name, got, want)
		}
	}
	// Nobody needs it any more, and it was used longest ago.
	s.Unpin("ns/one")
	if got := get(t, s.layerURL(remote, plans["first"].Kernel.Digest)); got.Status != http.StatusOK {
		t.Fatalf("status %d", got.Status)
	}
	if s.store.has(plans["needed"].Kernel.Digest) {
		t.Error("what nobody needs has not made room")
	}
}

func TestAPullSecretOpensWhatIsNeededAndNothingElse(t *testing.T) {
	var locked atomic.Bool
	locked.Store(true)
	remote := imagetest.StartRegistry(t, imagetest.RobotOnly(&locked))
	image := imagetest.Tiny("private")
	pushed := imagetest.Push(t, remote, "v1", image)
	other := imagetest.Push(t, remote, "v2", imagetest.Tiny("other"))
	o := registryOptions(remote)
	o.Dir = t.TempDir()
	s := startBlobs(t, o)
	plan := planOf(remote, "org/os", image, pushed)
	if err := s.Pin("ns/one", registry.Pin{Plan: plan, PullSecret: imagetest.RobotSecret(remote.Address())}); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, s.Cache, plan)
	expect := func(what, digest string, status int) {
		t.Helper()
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			if got := request(t, method, s.layerURL(remote, digest), nil); got.Status != status {
				t.Errorf("%s: %s: status %d, want %d: %s", what, method, got.Status, status, got.Body)
			}
		}
	}
	expect("needed", pushed.Kernel, http.StatusOK)
	expect("of the same repository, and not needed", other.Kernel, http.StatusBadGateway)

	s.Unpin("ns/one")
	expect("no longer needed", pushed.Kernel, http.StatusBadGateway)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = startBlobs(t, o)
	expect("after a restart", pushed.Kernel, http.StatusBadGateway)

	locked.Store(false)
	expect("when the registry gives it to anybody", pushed.Kernel, http.StatusOK)
	remote.SetAway(true)
	expect("and is away then", pushed.Kernel, http.StatusOK)
}

func TestABrokenPullSecretIsSaid(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	plan := planOf(remote, "org/os", image, pushed)
	if err := s.Pin("ns/one", registry.Pin{Plan: plan, PullSecret: []byte("{")}); err == nil {
		t.Error("no error")
	}
	awaitStored(t, s.Cache, plan) // it does not need one
}

func TestPrefetchTriesAgain(t *testing.T) {
	var refused atomic.Int32
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if refused.Add(1) <= 2 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, req)
	}))
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	o.MinBackoff = time.Millisecond
	s := startBlobs(t, o)
	plan := planOf(remote, "org/os", image, pushed)
	if err := s.Pin("ns/one", registry.Pin{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, s.Cache, plan)
}

// TestWhereImagesHaveToBeSignedOnlyPinnedBlobsAreServed: of others it is not known of which image they are.
func TestWhereImagesHaveToBeSignedOnlyPinnedBlobsAreServed(t *testing.T) {
	remote, signer := imagetest.StartRegistry(t), imagetest.NewSigner(t)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	o.SignatureKeys = signer.Keys(t)
	s := startBlobs(t, o)
	address := s.layerURL(remote, pushed.Kernel)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		if got := request(t, method, address, nil); got.Status != http.StatusForbidden {
			t.Errorf("%s without a boot configuration: %d %s", method, got.Status, got.Body)
		}
	}
	// Not even by an image that is signed: the next request may be for a blob of another.
	repository := remote.Address() + "/org/os"
	imagetest.PushSimple(t, repository, pushed.Digest, signer.SimpleLayer(t, pushed.Digest))
	named := s.URL + "/image?" + url.Values{"imageName": {repository}, "version": {"v1"}, "layerName": {localregistry.KernelType}}.Encode()
	if got := get(t, named); got.Status != http.StatusForbidden {
		t.Errorf("by the name of the layer: %d %s", got.Status, got.Body)
	}
	plan := resolve(t, o.Options, registry.Request{Reference: pushed.Reference}).Plan
	if err := s.Pin("ns/c", registry.Pin{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	if got := get(t, address); got.Status != http.StatusOK || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("for a boot configuration: %d %s", got.Status, got.Body)
	}
}
