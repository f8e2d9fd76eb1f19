package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/test/await"
)

// resolving is a resolver under test that runs, and what it told.
type resolving struct {
	*Resolver
	clock   *clocktesting.FakeClock
	changes chan Request
	stop    func()
}

func startResolver(t *testing.T, o Options) *resolving {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o.Clock = clock
	r, err := NewResolver(o)
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan Request, 1000)
	r.Subscribe(func(req Request) { changes <- req })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &resolving{Resolver: r, clock: clock, changes: changes, stop: stop}
}

// await waits for the next change, which must be about the request.
func (r *resolving) await(t *testing.T, req Request) Result {
	t.Helper()
	select {
	case got := <-r.changes:
		if diff := cmp.Diff(req, got); diff != "" {
			t.Fatalf("changed request (-want +got):\n%s", diff)
		}
	case <-time.After(imagetest.Patience):
		t.Fatalf("no change of %+v", req)
	}
	result, ok := r.Lookup(req)
	if !ok {
		t.Fatalf("%+v changed and is not known", req)
	}
	return result
}

// resolve looks a request up for the first time.
func (r *resolving) resolve(t *testing.T, req Request) Result {
	t.Helper()
	if result, ok := r.Lookup(req); ok {
		t.Fatalf("%+v is known at once: %+v", req, result)
	}
	return r.await(t, req)
}

// advance lets time pass once all attempts have been made that are due.
func (r *resolving) advance(t *testing.T, d time.Duration) {
	t.Helper()
	await.True(t, "the resolver waits", r.clock.HasWaiters)
	r.clock.Step(d)
}

func TestResolverFindsLayers(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Tiny("a")
	image.UKI = []byte("uki")
	pushed := imagetest.Push(t, remote, "v1", image)
	r := startResolver(t, registryOptions(remote))

	layer := func(digest, mediaType string, content []byte) *Layer {
		return &Layer{Digest: digest, MediaType: mediaType, Size: int64(len(content))}
	}
	want := Result{At: r.clock.Now(), Plan: Plan{
		Registry:   remote.Address(),
		Repository: "org/os",
		Tag:        "v1",
		Digest:     pushed.Digest,
		Kernel:     layer(pushed.Kernel, localregistry.KernelType, image.Kernel),
		Initramfs:  layer(pushed.Initramfs, localregistry.InitramfsType, image.Initramfs),
		Squashfs:   layer(pushed.Squashfs, localregistry.SquashfsType, image.Squashfs),
		UKI:        layer(pushed.UKI, localregistry.UKIType, image.UKI),
	}}
	if diff := cmp.Diff(want, r.resolve(t, Request{Reference: pushed.Reference})); diff != "" {
		t.Errorf("by tag (-want +got):\n%s", diff)
	}
	// A digest decides, whatever the tag beside it says, and is all that is left.
	want.Plan.Tag = ""
	pinned := Request{Reference: remote.Address() + "/org/os:nonsense@" + pushed.Digest}
	if diff := cmp.Diff(want, r.resolve(t, pinned)); diff != "" {
		t.Errorf("by tag and digest (-want +got):\n%s", diff)
	}
}

func TestResolverKnowsArchitectures(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	pxe := func(architecture string) map[string]string {
		return map[string]string{"cname": "metal_pxe-gardener", "architecture": architecture}
	}
	for _, tt := range []struct {
		tag     string
		docker  bool
		entries []localregistry.Entry
	}{
		{"oci", false, []localregistry.Entry{{Image: imagetest.Tiny("oci amd"), Architecture: "amd64"}, {Image: imagetest.Tiny("oci arm"), Architecture: "arm64"}}},
		{"docker", true, []localregistry.Entry{{Image: dockerTiny("amd"), Architecture: "amd64"}, {Image: dockerTiny("arm"), Architecture: "arm64"}}},
		{"annotated", false, []localregistry.Entry{
			{Image: imagetest.Tiny("old amd"), Annotations: pxe("amd64")},
			{Image: imagetest.Tiny("old arm"), Annotations: pxe("arm64")},
			{Image: imagetest.Tiny("old kvm"), Annotations: map[string]string{"cname": "kvm", "architecture": "amd64"}},
		}},
	} {
		t.Run(tt.tag, func(t *testing.T) {
			pushed, index, err := remote.PushIndex(t.Context(), "org/os", tt.tag, tt.docker, tt.entries...)
			if err != nil {
				t.Fatal(err)
			}
			r := startResolver(t, registryOptions(remote))
			for architecture, want := range map[string]localregistry.Pushed{"": pushed[0], "x86_64": pushed[0], "arm64": pushed[1]} {
				for _, version := range []string{":" + tt.tag, "@" + index} {
					got := r.resolve(t, Request{Reference: remote.Address() + "/org/os" + version, Architecture: architecture})
					r.Forget(Request{Reference: remote.Address() + "/org/os" + version, Architecture: architecture})
					if got.Err != nil || got.Plan.Digest != want.Digest || got.Plan.Kernel.Digest != want.Kernel {
						t.Errorf("%s for %q: %+v, want manifest %s", version, architecture, got, want.Digest)
					}
				}
			}
			got := r.resolve(t, Request{Reference: remote.Reference("org/os", tt.tag), Architecture: "riscv64"})
			if !errors.Is(got.Err, ErrNoArchitecture) {
				t.Errorf("for riscv64: error %v, want %v", got.Err, ErrNoArchitecture)
			}
		})
	}
}

func dockerTiny(content string) localregistry.Image {
	image := imagetest.Tiny(content)
	image.Docker = true
	return image
}

func TestResolverFollowsTags(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	first := imagetest.Push(t, remote, "v1", imagetest.Tiny("first"))
	r := startResolver(t, registryOptions(remote))
	tagged, pinned := Request{Reference: first.Reference}, Request{Reference: remote.Address() + "/org/os@" + first.Digest}
	r.resolve(t, pinned)
	r.resolve(t, tagged)
	asked := remote.Counts().Manifests

	second := imagetest.Push(t, remote, "v1", imagetest.Tiny("second"))
	r.advance(t, r.opts.Refresh)
	got := r.await(t, tagged)
	if got.Plan.Digest != second.Digest || !got.At.Equal(r.clock.Now()) {
		t.Errorf("after the tag moved: %+v, want %s", got, second.Digest)
	}
	// A digest never means anything else, so nobody asks again.
	if n := remote.Counts().Manifests - asked; n != 1 {
		t.Errorf("%d manifests fetched, want 1", n)
	}
	if got, _ := r.Lookup(pinned); got.Plan.Digest != first.Digest {
		t.Errorf("the pinned image is now %s", got.Plan.Digest)
	}
}

func TestResolverAsksOncePerRequest(t *testing.T) {
	held := imagetest.NewGate()
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/manifests/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		held.Pass(req.Context())
		next.ServeHTTP(w, req)
	}))
	t.Cleanup(held.Release)
	pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	r := startResolver(t, registryOptions(remote))
	req := Request{Reference: pushed.Reference}
	var lookups sync.WaitGroup
	for range 100 {
		lookups.Go(func() {
			if _, ok := r.Lookup(req); ok {
				t.Error("known too early")
			}
		})
	}
	lookups.Wait()
	held.AwaitArrivals(t, 1)
	held.Release()
	if got := r.await(t, req); got.Err != nil {
		t.Fatal(got.Err)
	}
	if n := remote.Counts().Manifests; n != 1 {
		t.Errorf("%d manifests fetched, want 1", n)
	}
	if len(r.changes) != 0 {
		t.Errorf("%d more changes told, want none", len(r.changes))
	}
}

func TestResolverBoundsItsCalls(t *testing.T) {
	const parallel, images = 3, 10
	var now, most atomic.Int32
	held := imagetest.NewGate()
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/manifests/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		held.Pass(req.Context())
		next.ServeHTTP(w, req)
	}))
	t.Cleanup(held.Release)
	o := registryOptions(remote)
	o.Parallel = parallel
	r := startResolver(t, o)
	for i := range images {
		tag := fmt.Sprintf("v%d", i)
		imagetest.Push(t, remote, tag, imagetest.Tiny(tag))
		r.Lookup(Request{Reference: remote.Reference("org/os", tag)})
	}
	held.AwaitArrivals(t, parallel)
	held.Release()
	for range images {
		select {
		case <-r.changes:
		case <-time.After(imagetest.Patience):
			t.Fatal("not all images were resolved")
		}
	}
	if most.Load() != parallel {
		t.Errorf("at most %d calls at once, want %d", most.Load(), parallel)
	}
}

func TestResolverForgets(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	r := startResolver(t, registryOptions(remote))
	req := Request{Reference: pushed.Reference}
	r.resolve(t, req)
	r.Forget(req)
	r.Forget(req)
	if r.plans.Busy() != 0 || r.plans.Len() != 0 {
		t.Errorf("%d requests due and %d known, want none", r.plans.Busy(), r.plans.Len())
	}
	r.resolve(t, req)
}

func TestResolverEndsWhileCalling(t *testing.T) {
	held := imagetest.NewGate()
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/manifests/", func(_ http.Handler, _ http.ResponseWriter, req *http.Request) {
		held.Pass(req.Context())
	}))
	t.Cleanup(held.Release)
	r := startResolver(t, registryOptions(remote))
	req := Request{Reference: remote.Reference("org/os", "v1")}
	r.Lookup(req)
	held.AwaitArrivals(t, 1)
	r.stop()
	if _, ok := r.Lookup(req); ok || len(r.changes) != 0 {
		t.Error("the end of the resolver was taken for an answer")
	}
}
