package image

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/test/await"
)

// planOf is what a Resolver would say of a pushed image.
func planOf(r *localregistry.Registry, repository string, image localregistry.Image, pushed localregistry.Pushed) Plan {
	p := Plan{Registry: r.Address(), Repository: repository, Digest: pushed.Digest}
	for _, l := range []struct {
		layer   **Layer
		digest  string
		content []byte
	}{{&p.Kernel, pushed.Kernel, image.Kernel}, {&p.Initramfs, pushed.Initramfs, image.Initramfs}, {&p.Squashfs, pushed.Squashfs, image.Squashfs}} {
		if l.digest != "" {
			*l.layer = &Layer{Digest: l.digest, Size: int64(len(l.content))}
		}
	}
	return p
}

func awaitStored(t *testing.T, b *Blobs, p Plan) {
	t.Helper()
	for _, layer := range p.layers() {
		await.True(t, layer.Digest+" is fetched", func() bool { return b.store.has(layer.Digest) })
	}
}

// awaitUnread waits until the handlers have returned whose answers clients have read.
func awaitUnread(t *testing.T, b *Blobs) {
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
	registry := startRegistry(t)
	image := tiny("a")
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	plan := planOf(registry, "org/os", image, pushed)
	for _, owner := range []string{"ns/one", "ns/two"} {
		if err := s.Need(owner, Need{Plan: plan}); err != nil {
			t.Fatal(err)
		}
	}
	awaitStored(t, s.Blobs, plan)
	registry.SetAway(true)
	for _, layer := range plan.layers() {
		if got := get(t, s.layerURL(registry, layer.Digest)); got.Status != http.StatusOK {
			t.Errorf("%s: status %d: %s", layer.Digest, got.Status, got.Body)
		}
	}
	if n := registry.Counts().Blobs; n != 3 {
		t.Errorf("%d downloads of three layers that two machines need", n)
	}
}

func TestAHeadOfWhatIsNeededAsksNobody(t *testing.T) {
	g := newGate()
	registry := startRegistry(t, onPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		g.pass(req.Context())
		next.ServeHTTP(w, req)
	}))
	t.Cleanup(g.release)
	image := tiny("a")
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	plan := planOf(registry, "org/os", image, pushed)
	if err := s.Need("ns/one", Need{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	for _, layer := range plan.layers() {
		got := request(t, http.MethodHead, s.layerURL(registry, layer.Digest), nil)
		if got.Status != http.StatusOK || got.Header.Get("Content-Length") != fmt.Sprint(layer.Size) {
			t.Errorf("status %d, length %s, want %d", got.Status, got.Header.Get("Content-Length"), layer.Size)
		}
	}
}

func TestNeededLayersStayAndOthersGo(t *testing.T) {
	registry := startRegistry(t)
	images := map[string]localregistry.Image{}
	plans := map[string]Plan{}
	for i, name := range []string{"needed", "first", "second"} {
		images[name] = localregistry.Image{Kernel: localregistry.SmallImage(uint64(i)).Kernel}
		plans[name] = planOf(registry, "org/os", images[name], push(t, registry, name, images[name]))
	}
	o := registryOptions(registry)
	o.MaxBytes = int64(len(images["needed"].Kernel)) * 2
	o.Unneeded.Bytes = o.MaxBytes
	s := startBlobs(t, o)
	if err := s.Need("ns/one", Need{Plan: plans["needed"]}); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, s.Blobs, plans["needed"])
	for _, name := range []string{"first", "second"} {
		if got := get(t, s.layerURL(registry, plans[name].Kernel.Digest)); got.Status != http.StatusOK {
			t.Fatalf("%s: status %d", name, got.Status)
		}
		awaitUnread(t, s.Blobs)
	}
	for name, want := range map[string]bool{"needed": true, "first": false, "second": true} {
		if got := s.store.has(plans[name].Kernel.Digest); got != want {
			t.Errorf("%s: in the cache %t, want %t", name, got, want)
		}
	}
	// Nobody needs it any more, and it was used longest ago.
	s.Release("ns/one")
	if got := get(t, s.layerURL(registry, plans["first"].Kernel.Digest)); got.Status != http.StatusOK {
		t.Fatalf("status %d", got.Status)
	}
	if s.store.has(plans["needed"].Kernel.Digest) {
		t.Error("what nobody needs has not made room")
	}
}

// robotOnly refuses everybody without the password of the pull secret below, once it is locked.
func robotOnly(locked *atomic.Bool) localregistry.Middleware {
	return onPath("/v2/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if _, password, ok := req.BasicAuth(); locked.Load() && (!ok || password != "s3cret") {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, req)
	})
}

func robotSecret(registry string) []byte {
	return fmt.Appendf(nil, `{"auths":{%q:{"username":"robot","password":"s3cret"}}}`, registry)
}

func TestAPullSecretOpensWhatIsNeededAndNothingElse(t *testing.T) {
	var locked atomic.Bool
	locked.Store(true)
	registry := startRegistry(t, robotOnly(&locked))
	image := tiny("private")
	pushed := push(t, registry, "v1", image)
	other := push(t, registry, "v2", tiny("other"))
	o := registryOptions(registry)
	o.Dir = t.TempDir()
	s := startBlobs(t, o)
	plan := planOf(registry, "org/os", image, pushed)
	if err := s.Need("ns/one", Need{Plan: plan, PullSecret: robotSecret(registry.Address())}); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, s.Blobs, plan)
	expect := func(what, digest string, status int) {
		t.Helper()
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			if got := request(t, method, s.layerURL(registry, digest), nil); got.Status != status {
				t.Errorf("%s: %s: status %d, want %d: %s", what, method, got.Status, status, got.Body)
			}
		}
	}
	expect("needed", pushed.Kernel, http.StatusOK)
	expect("of the same repository, and not needed", other.Kernel, http.StatusBadGateway)

	s.Release("ns/one")
	expect("no longer needed", pushed.Kernel, http.StatusBadGateway)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = startBlobs(t, o)
	expect("after a restart", pushed.Kernel, http.StatusBadGateway)

	locked.Store(false)
	expect("when the registry gives it to anybody", pushed.Kernel, http.StatusOK)
	registry.SetAway(true)
	expect("and is away then", pushed.Kernel, http.StatusOK)
}

func TestABrokenPullSecretIsSaid(t *testing.T) {
	registry := startRegistry(t)
	image := tiny("a")
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	plan := planOf(registry, "org/os", image, pushed)
	if err := s.Need("ns/one", Need{Plan: plan, PullSecret: []byte("{")}); err == nil {
		t.Error("no error")
	}
	awaitStored(t, s.Blobs, plan) // it does not need one
}

func TestPrefetchTriesAgain(t *testing.T) {
	var refused atomic.Int32
	registry := startRegistry(t, onPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if refused.Add(1) <= 2 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, req)
	}))
	image := tiny("a")
	pushed := push(t, registry, "v1", image)
	o := registryOptions(registry)
	o.MinBackoff = time.Millisecond
	s := startBlobs(t, o)
	plan := planOf(registry, "org/os", image, pushed)
	if err := s.Need("ns/one", Need{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, s.Blobs, plan)
}
