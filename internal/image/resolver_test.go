package image

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
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
	case <-time.After(patience):
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

// advance lets time pass once the resolver waits for it.
func (r *resolving) advance(t *testing.T, d time.Duration) {
	t.Helper()
	for start := time.Now(); !r.clock.HasWaiters(); time.Sleep(time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("the resolver waits for nothing")
		}
	}
	r.clock.Step(d)
}

func TestResolverFindsLayers(t *testing.T) {
	registry := startRegistry(t)
	image := tiny("a")
	image.UKI = []byte("uki")
	pushed := push(t, registry, "v1", image)
	r := startResolver(t, registryOptions(registry))

	layer := func(digest, mediaType string, content []byte) *Layer {
		return &Layer{Digest: digest, MediaType: mediaType, Size: int64(len(content))}
	}
	want := Result{At: r.clock.Now(), Plan: Plan{
		Registry:   registry.Address(),
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
	pinned := Request{Reference: registry.Address() + "/org/os:nonsense@" + pushed.Digest}
	if diff := cmp.Diff(want, r.resolve(t, pinned)); diff != "" {
		t.Errorf("by tag and digest (-want +got):\n%s", diff)
	}
}

func TestResolverKnowsArchitectures(t *testing.T) {
	registry := startRegistry(t)
	pxe := func(architecture string) map[string]string {
		return map[string]string{"cname": "metal_pxe-gardener", "architecture": architecture}
	}
	for _, tt := range []struct {
		tag     string
		docker  bool
		entries []localregistry.Entry
	}{
		{"oci", false, []localregistry.Entry{{Image: tiny("oci amd"), Architecture: "amd64"}, {Image: tiny("oci arm"), Architecture: "arm64"}}},
		{"docker", true, []localregistry.Entry{{Image: dockerTiny("amd"), Architecture: "amd64"}, {Image: dockerTiny("arm"), Architecture: "arm64"}}},
		{"annotated", false, []localregistry.Entry{
			{Image: tiny("old amd"), Annotations: pxe("amd64")},
			{Image: tiny("old arm"), Annotations: pxe("arm64")},
			{Image: tiny("old kvm"), Annotations: map[string]string{"cname": "kvm", "architecture": "amd64"}},
		}},
	} {
		t.Run(tt.tag, func(t *testing.T) {
			pushed, index, err := registry.PushIndex(t.Context(), "org/os", tt.tag, tt.docker, tt.entries...)
			if err != nil {
				t.Fatal(err)
			}
			r := startResolver(t, registryOptions(registry))
			for architecture, want := range map[string]localregistry.Pushed{"": pushed[0], "x86_64": pushed[0], "arm64": pushed[1]} {
				for _, version := range []string{":" + tt.tag, "@" + index} {
					got := r.resolve(t, Request{Reference: registry.Address() + "/org/os" + version, Architecture: architecture})
					r.Forget(Request{Reference: registry.Address() + "/org/os" + version, Architecture: architecture})
					if got.Err != nil || got.Plan.Digest != want.Digest || got.Plan.Kernel.Digest != want.Kernel {
						t.Errorf("%s for %q: %+v, want manifest %s", version, architecture, got, want.Digest)
					}
				}
			}
			got := r.resolve(t, Request{Reference: registry.Reference("org/os", tt.tag), Architecture: "riscv64"})
			if !errors.Is(got.Err, ErrNoArchitecture) {
				t.Errorf("for riscv64: error %v, want %v", got.Err, ErrNoArchitecture)
			}
		})
	}
}

func dockerTiny(content string) localregistry.Image {
	image := tiny(content)
	image.Docker = true
	return image
}

func TestResolverRefusesAtOnce(t *testing.T) {
	r := startResolver(t, Options{})
	for reference, want := range map[string]error{
		"ghcr.io/Org/os:v1":         ErrInvalidReference,
		"quay.io/org/os:v1":         ErrNotAllowed,
		"ghcr.io:5000/org/os:v1":    ErrNotAllowed,
		"ghcr.io.evil.example/os:1": ErrNotAllowed,
		"debian:13":                 ErrNotAllowed,
	} {
		result, ok := r.Lookup(Request{Reference: reference})
		if !ok || !errors.Is(result.Err, want) {
			t.Errorf("%s: %+v, %v; want %v at once", reference, result, ok, want)
		}
	}
	for _, o := range []Options{{AllowedRegistries: []string{"a b"}}, {PlainHTTP: []string{"x:y"}}} {
		if _, err := NewResolver(o); err == nil {
			t.Errorf("options %+v were accepted", o)
		}
	}
}

func TestResolverNamesMissingLayer(t *testing.T) {
	registry := startRegistry(t)
	pushed := push(t, registry, "v1", localregistry.Image{Kernel: []byte("k")})
	r := startResolver(t, registryOptions(registry))
	req := Request{Reference: pushed.Reference}
	got := r.resolve(t, req)
	missing, ok := errors.AsType[ErrMissingLayer](got.Err)
	if !ok || missing.Layer != "initramfs" || missing.Image != pushed.Reference {
		t.Fatalf("error %v", got.Err)
	}
	// Somebody mends the image.
	push(t, registry, "v1", tiny("a"))
	r.advance(t, time.Second)
	if got := r.await(t, req); got.Err != nil || !got.Plan.IPXE() {
		t.Errorf("after the image was mended: %+v", got)
	}
}

func TestResolverFollowsTags(t *testing.T) {
	registry := startRegistry(t)
	first := push(t, registry, "v1", tiny("first"))
	r := startResolver(t, registryOptions(registry))
	tagged, pinned := Request{Reference: first.Reference}, Request{Reference: registry.Address() + "/org/os@" + first.Digest}
	r.resolve(t, pinned)
	r.resolve(t, tagged)
	asked := registry.Counts().Manifests

	second := push(t, registry, "v1", tiny("second"))
	r.advance(t, r.opts.Refresh)
	got := r.await(t, tagged)
	if got.Plan.Digest != second.Digest || !got.At.Equal(r.clock.Now()) {
		t.Errorf("after the tag moved: %+v, want %s", got, second.Digest)
	}
	// A digest never means anything else, so nobody asks again.
	if n := registry.Counts().Manifests - asked; n != 1 {
		t.Errorf("%d manifests fetched, want 1", n)
	}
	if got, _ := r.Lookup(pinned); got.Plan.Digest != first.Digest {
		t.Errorf("the pinned image is now %s", got.Plan.Digest)
	}
}

func TestResolverKeepsTheLastGoodAnswer(t *testing.T) {
	registry := startRegistry(t)
	pushed := push(t, registry, "v1", tiny("a"))
	r := startResolver(t, registryOptions(registry))
	req := Request{Reference: pushed.Reference}
	good := r.resolve(t, req)

	registry.SetAway(true)
	r.advance(t, r.opts.Refresh)
	got := r.await(t, req)
	if !errors.Is(got.Err, ErrUnreachable) {
		t.Errorf("error %v, want %v", got.Err, ErrUnreachable)
	}
	got.Err = nil
	if diff := cmp.Diff(good, got); diff != "" {
		t.Errorf("the last good answer (-want +got):\n%s", diff)
	}
	// More failures of the same kind are no news.
	for range 3 {
		r.advance(t, r.opts.MaxBackoff)
	}
	registry.SetAway(false)
	r.advance(t, r.opts.MaxBackoff)
	if got := r.await(t, req); got.Err != nil || got.Plan.Digest != pushed.Digest || !got.At.After(good.At) {
		t.Errorf("after the registry came back: %+v", got)
	}
	// Somebody withdraws the image.
	if err := registry.Withdraw(t.Context(), "org/os", "v1"); err != nil {
		t.Fatal(err)
	}
	r.advance(t, r.opts.Refresh)
	if got := r.await(t, req); !errors.Is(got.Err, ErrNotFound) || got.Plan.Digest != pushed.Digest {
		t.Errorf("after the image was withdrawn: %+v", got)
	}
}

func TestResolverRecoversFromTheStart(t *testing.T) {
	registry := startRegistry(t)
	pushed := push(t, registry, "v1", tiny("a"))
	registry.SetAway(true)
	r := startResolver(t, registryOptions(registry))
	req := Request{Reference: pushed.Reference}
	if got := r.resolve(t, req); !errors.Is(got.Err, ErrUnreachable) || got.Plan != (Plan{}) || !got.At.IsZero() {
		t.Errorf("while the registry is away: %+v", got)
	}
	registry.SetAway(false)
	r.advance(t, r.opts.MinBackoff)
	if got := r.await(t, req); got.Err != nil || got.Plan.Digest != pushed.Digest {
		t.Errorf("after the registry came back: %+v", got)
	}
}

func TestResolverAsksOncePerRequest(t *testing.T) {
	held := newGate()
	registry := startRegistry(t, onPath("/manifests/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		held.pass(req.Context())
		next.ServeHTTP(w, req)
	}))
	t.Cleanup(held.release)
	pushed := push(t, registry, "v1", tiny("a"))
	r := startResolver(t, registryOptions(registry))
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
	held.awaitArrivals(t, 1)
	held.release()
	if got := r.await(t, req); got.Err != nil {
		t.Fatal(got.Err)
	}
	if n := registry.Counts().Manifests; n != 1 {
		t.Errorf("%d manifests fetched, want 1", n)
	}
	if len(r.changes) != 0 {
		t.Errorf("%d more changes told, want none", len(r.changes))
	}
}

func TestResolverBoundsItsCalls(t *testing.T) {
	const parallel, images = 3, 10
	var now, most atomic.Int32
	held := newGate()
	registry := startRegistry(t, onPath("/manifests/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		held.pass(req.Context())
		next.ServeHTTP(w, req)
	}))
	t.Cleanup(held.release)
	o := registryOptions(registry)
	o.Parallel = parallel
	r := startResolver(t, o)
	for i := range images {
		tag := fmt.Sprintf("v%d", i)
		push(t, registry, tag, tiny(tag))
		r.Lookup(Request{Reference: registry.Reference("org/os", tag)})
	}
	held.awaitArrivals(t, parallel)
	held.release()
	for range images {
		select {
		case <-r.changes:
		case <-time.After(patience):
			t.Fatal("not all images were resolved")
		}
	}
	if most.Load() != parallel {
		t.Errorf("at most %d calls at once, want %d", most.Load(), parallel)
	}
}

func TestResolverForgets(t *testing.T) {
	registry := startRegistry(t)
	pushed := push(t, registry, "v1", tiny("a"))
	r := startResolver(t, registryOptions(registry))
	req := Request{Reference: pushed.Reference}
	r.resolve(t, req)
	r.Forget(req)
	r.Forget(req)
	if len(r.due.heap) != 0 || len(r.entries) != 0 {
		t.Errorf("%d entries due and %d known, want none", len(r.due.heap), len(r.entries))
	}
	r.resolve(t, req)
}

func TestResolverEndsWhileCalling(t *testing.T) {
	held := newGate()
	registry := startRegistry(t, onPath("/manifests/", func(_ http.Handler, _ http.ResponseWriter, req *http.Request) {
		held.pass(req.Context())
	}))
	t.Cleanup(held.release)
	r := startResolver(t, registryOptions(registry))
	req := Request{Reference: registry.Reference("org/os", "v1")}
	r.Lookup(req)
	held.awaitArrivals(t, 1)
	r.stop()
	if _, ok := r.Lookup(req); ok || len(r.changes) != 0 {
		t.Error("the end of the resolver was taken for an answer")
	}
}

func TestResolverClassifiesFailures(t *testing.T) {
	answer := func(status int) func(http.Handler, http.ResponseWriter, *http.Request) {
		return func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for _, tt := range []struct {
		name   string
		handle func(http.Handler, http.ResponseWriter, *http.Request)
		want   error
	}{
		{"corrupt", corrupt, ErrCorrupt},
		{"denied", answer(http.StatusForbidden), ErrDenied},
		{"failing", answer(http.StatusInternalServerError), ErrUnreachable},
		{"not found", answer(http.StatusNotFound), ErrNotFound},
		{"moved without a place", answer(http.StatusFound), ErrUnreachable},
		{"HTML", func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome</html>") }, ErrInvalidManifest},
		{"too large", func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
			for range maxManifest/1024 + 1 {
				fmt.Fprint(w, strings.Repeat(" ", 1024))
			}
		}, ErrInvalidManifest},
		{"hanging", func(_ http.Handler, _ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, context.DeadlineExceeded},
		{"cut off", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "{")
		}, ErrUnreachable},
		{"redirect loop", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, req.URL.Path, http.StatusTemporaryRedirect)
		}, ErrUnreachable},
		{"redirect to a neighbour", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		}, ErrUnreachable},
		{"redirect to this host", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "http://localhost:1/", http.StatusTemporaryRedirect)
		}, ErrUnreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			registry := startRegistry(t, onPath("/manifests/", tt.handle))
			push(t, registry, "v1", tiny("a"))
			o := registryOptions(registry)
			if tt.name == "hanging" {
				o.Timeout = 50 * time.Millisecond
			}
			r := startResolver(t, o)
			got := r.resolve(t, Request{Reference: registry.Reference("org/os", "v1")})
			if !errors.Is(got.Err, tt.want) {
				t.Errorf("error %v, want %v", got.Err, tt.want)
			}
			if strings.HasPrefix(tt.name, "redirect to") && !strings.Contains(got.Err.Error(), "loopback or link-local") {
				t.Errorf("error %v does not say why", got.Err)
			}
		})
	}
}

func TestResolverUsesPullSecrets(t *testing.T) {
	registry := startRegistry(t, onPath("/v2/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if username, password, ok := req.BasicAuth(); !ok || username != "robot" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, req)
	}))
	pushed := push(t, registry, "v1", tiny("a"))
	r := startResolver(t, registryOptions(registry))
	secret := fmt.Appendf(nil, `{"auths":{%q:{"username":"robot","password":"s3cret"}}}`, registry.Address())
	if got := r.resolve(t, Request{Reference: pushed.Reference, PullSecret: secret}); got.Err != nil {
		t.Errorf("with the secret: %v", got.Err)
	}
	// What one secret opened stays closed for everybody else.
	if got := r.resolve(t, Request{Reference: pushed.Reference}); !errors.Is(got.Err, ErrDenied) || got.Plan != (Plan{}) {
		t.Errorf("without a secret: %+v", got)
	}
	if got := r.resolve(t, Request{Reference: pushed.Reference, PullSecret: []byte("x")}); !errors.Is(got.Err, ErrPullSecret) {
		t.Errorf("with a broken secret: %v", got.Err)
	}
}

func TestResolverGetsTokens(t *testing.T) {
	var tokens atomic.Int32
	registry := startRegistry(t, onPath("/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Path == "/token":
			tokens.Add(1)
			fmt.Fprintf(w, `{"token":"for %s"}`, req.URL.Query().Get("scope"))
		case req.Header.Get("Authorization") != "Bearer for repository:org/os:pull":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+req.Host+`/token",service="test",scope="repository:org/os:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, req)
		}
	}))
	r := startResolver(t, registryOptions(registry))
	for _, tag := range []string{"v1", "v2"} {
		pushed := push(t, registry, tag, tiny(tag))
		if got := r.resolve(t, Request{Reference: pushed.Reference}); got.Err != nil || got.Plan.Digest != pushed.Digest {
			t.Errorf("%s: %+v", tag, got)
		}
	}
	if n := tokens.Load(); n != 1 {
		t.Errorf("%d tokens fetched, want 1", n)
	}
}

func TestBackoff(t *testing.T) {
	r, err := NewResolver(Options{MinBackoff: time.Second, MaxBackoff: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var got []time.Duration
	for _, failures := range []int{1, 2, 3, 4, 5, 6, 1000000} {
		got = append(got, r.backoff(failures)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 10, 10, 10}, got); diff != "" {
		t.Errorf("pauses in seconds (-want +got):\n%s", diff)
	}
}

func TestDueQueue(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	var q dueQueue
	entries := map[string]*entry{}
	for name, seconds := range map[string]int{"a": 5, "b": 1, "c": 3} {
		entries[name] = &entry{index: -1, request: Request{Reference: name}}
		q.add(entries[name], at(seconds))
	}
	q.add(entries["a"], at(2)) // sooner than before
	q.remove(entries["c"])
	q.remove(entries["c"])
	if e, wait := q.take(at(0)); e != nil || wait != time.Second {
		t.Errorf("at 0 s: %v, wait %v", e, wait)
	}
	for _, want := range []string{"b", "a"} {
		if e, _ := q.take(at(9)); e == nil || e.request.Reference != want {
			t.Errorf("took %+v, want %s", e, want)
		}
	}
	if e, wait := q.take(at(9)); e != nil || wait != 0 {
		t.Errorf("empty: %v, wait %v", e, wait)
	}
}
