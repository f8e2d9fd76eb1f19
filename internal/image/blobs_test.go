package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

// serving is a Blobs under test behind a real server.
type serving struct {
	*Blobs
	URL string
}

func startBlobs(t *testing.T, o Options) *serving {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	b, err := NewBlobs(o)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/image", b.ServeImage)
	mux.HandleFunc("/httpboot/", b.ServeUKI)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return &serving{Blobs: b, URL: server.URL}
}

// answer is what a client got. Err is what reading the body ended with.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
	Err    error
}

func request(t *testing.T, method, address string, header http.Header) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header
	}
	// A machine would not follow a redirect either.
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{Status: resp.StatusCode, Header: resp.Header, Body: body, Err: err}
}

func get(t *testing.T, address string) answer {
	t.Helper()
	return request(t, http.MethodGet, address, nil)
}

// layerURL is the URL of a layer that nobody has described.
func (s *serving) layerURL(r *localregistry.Registry, digest string) string {
	return LayerURL(s.URL, Plan{Registry: r.Address(), Repository: "org/os", Tag: "v1"}, Layer{Digest: digest})
}

func (s *serving) ukiURL(r *localregistry.Registry, digest string) string {
	return UKIURL(s.URL, Plan{Registry: r.Address(), Repository: "org/os", UKI: &Layer{Digest: digest}})
}

func TestBlobsServeGetAndHead(t *testing.T) {
	registry := startRegistry(t)
	image := tiny("a")
	image.UKI = []byte("MZ uki")
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	byName := s.URL + "/image?" + url.Values{"imageName": {registry.Address() + "/org/os"}, "version": {"v1"}, "layerName": {"squashfs"}}.Encode()
	byDigestAndName := s.URL + "/image?" + url.Values{"imageName": {registry.Address() + "/org/os"}, "version": {pushed.Digest},
		"layerName": {"squashfs"}, "layerDigest": {pushed.Initramfs}}.Encode()
	for _, tt := range []struct {
		name, url, contentType, digest string
		want                           []byte
	}{
		{"kernel", s.layerURL(registry, pushed.Kernel), "application/octet-stream", pushed.Kernel, image.Kernel},
		{"layer by name", byName, "application/octet-stream", pushed.Squashfs, image.Squashfs},
		{"digest before name", byDigestAndName, "application/octet-stream", pushed.Initramfs, image.Initramfs},
		{"UKI", s.ukiURL(registry, pushed.UKI), "application/efi", pushed.UKI, image.UKI},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// HEAD before GET, GET, and HEAD of what is cached.
			for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodHead} {
				got := request(t, method, tt.url, nil)
				if got.Err != nil || got.Status != http.StatusOK {
					t.Fatalf("%s: status %d, error %v: %s", method, got.Status, got.Err, got.Body)
				}
				want := tt.want
				if method == http.MethodHead {
					want = []byte{}
				}
				if diff := cmp.Diff(want, got.Body); diff != "" {
					t.Errorf("%s: body (-want +got):\n%s", method, diff)
				}
				for name, want := range map[string]string{
					"Content-Type":   tt.contentType,
					"Content-Length": fmt.Sprint(len(tt.want)),
					"Accept-Ranges":  "bytes",
					"Etag":           `"` + tt.digest + `"`,
				} {
					if got := got.Header.Get(name); got != want {
						t.Errorf("%s: %s %q, want %q", method, name, got, want)
					}
				}
			}
		})
	}
	if n := registry.Counts().Heads; n != 0 {
		t.Errorf("%d HEAD requests upstream, want none", n)
	}
}

func TestBlobsServeRanges(t *testing.T) {
	registry := startRegistry(t)
	image := large(1)
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	address := s.layerURL(registry, pushed.Kernel)
	size := len(image.Kernel)
	for _, tt := range []struct {
		name, header, contentRange string
		status                     int
		want                       []byte
	}{
		{"first, before it is cached", "bytes=0-65535", fmt.Sprintf("bytes 0-65535/%d", size), 206, image.Kernel[:65536]},
		{"middle", "bytes=100-199", fmt.Sprintf("bytes 100-199/%d", size), 206, image.Kernel[100:200]},
		{"rest", fmt.Sprintf("bytes=%d-", size-7), fmt.Sprintf("bytes %d-%d/%d", size-7, size-1, size), 206, image.Kernel[size-7:]},
		{"end", "bytes=-5", fmt.Sprintf("bytes %d-%d/%d", size-5, size-1, size), 206, image.Kernel[size-5:]},
		{"beyond", fmt.Sprintf("bytes=%d-", size), fmt.Sprintf("bytes */%d", size), 416, nil},
	} {
		got := request(t, http.MethodGet, address, http.Header{"Range": {tt.header}})
		if got.Status != tt.status || got.Header.Get("Content-Range") != tt.contentRange {
			t.Errorf("%s: status %d, Content-Range %q; want %d, %q", tt.name, got.Status, got.Header.Get("Content-Range"), tt.status, tt.contentRange)
		}
		if tt.want != nil && !bytes.Equal(got.Body, tt.want) {
			t.Errorf("%s: %d bytes that differ from the %d wanted", tt.name, len(got.Body), len(tt.want))
		}
	}
	if got := get(t, address); !bytes.Equal(got.Body, image.Kernel) {
		t.Error("the whole blob differs")
	}
	if n := registry.Counts().Blobs; n != 1 {
		t.Errorf("%d blob requests upstream, want 1", n)
	}
	unchanged := request(t, http.MethodGet, address, http.Header{"If-None-Match": {`"` + pushed.Kernel + `"`}})
	if unchanged.Status != http.StatusNotModified {
		t.Errorf("status %d for a client that has it, want 304", unchanged.Status)
	}
}

// halfway sends half of each blob, then waits at a gate.
func halfway(held *gate) localregistry.Middleware {
	return onPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		recorder := recorded(next, req)
		body := recorder.Body.Bytes()
		replay(w, recorder, body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		held.pass(req.Context())
		_, _ = w.Write(body[len(body)/2:])
	})
}

func TestBlobsAreFetchedOnceAndStreamed(t *testing.T) {
	const clients = 50
	held := newGate()
	registry := startRegistry(t, halfway(held))
	t.Cleanup(held.release)
	image := large(2)
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	address := s.layerURL(registry, pushed.Kernel)

	var ends, halves sync.WaitGroup
	halves.Add(clients)
	for i := range clients {
		ends.Go(func() {
			if i%10 == 9 { // some ask for a part
				halves.Done()
				got := request(t, http.MethodGet, address, http.Header{"Range": {"bytes=0-65535"}})
				if !bytes.Equal(got.Body, image.Kernel[:65536]) {
					t.Errorf("client %d: %d bytes of a part differ", i, len(got.Body))
				}
				return
			}
			resp, err := http.Get(address)
			if err != nil {
				halves.Done()
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			half := make([]byte, len(image.Kernel)/2)
			_, err = io.ReadFull(resp.Body, half)
			halves.Done()
			rest, err2 := io.ReadAll(resp.Body)
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(append(half, rest...), image.Kernel) {
				t.Errorf("client %d: %v, %d bytes of %d", i, err, len(half)+len(rest), len(image.Kernel))
			}
		})
	}
	// All have half of it while the registry still holds the rest back.
	halves.Wait()
	if got := request(t, http.MethodHead, address, nil); got.Status != http.StatusOK || got.Header.Get("Content-Length") != fmt.Sprint(len(image.Kernel)) {
		t.Errorf("HEAD during the download: status %d, length %s", got.Status, got.Header.Get("Content-Length"))
	}
	held.release()
	ends.Wait()
	counts := registry.Counts()
	counts.Manifests = 0
	if diff := cmp.Diff(localregistry.Counts{Blobs: counts.Blobs, BlobBytes: counts.BlobBytes}, counts); diff != "" {
		t.Errorf("requests upstream (-want +got):\n%s", diff)
	}
	if limit := int64(len(image.Kernel) + 1); counts.BlobBytes > limit {
		t.Errorf("%d bytes upstream for %d clients, want at most %d", counts.BlobBytes, clients, limit)
	}
}

func TestBlobsHoldTheLastByteBack(t *testing.T) {
	held := newGate()
	var body []byte
	// Everything but the end of the answer arrives.
	registry := startRegistry(t, onPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		recorder := recorded(next, req)
		replay(w, recorder, recorder.Body.Bytes()[:len(body)-1])
		_ = http.NewResponseController(w).Flush()
		held.pass(req.Context())
		_, _ = w.Write([]byte{^body[len(body)-1]})
	}))
	t.Cleanup(held.release)
	image := tiny("a")
	body = image.Kernel
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	resp, err := http.Get(s.layerURL(registry, pushed.Kernel))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	held.release()
	got, err := io.ReadAll(resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) >= len(body) {
		t.Errorf("%d bytes of %d, error %v; want fewer and %v", len(got), len(body), err, io.ErrUnexpectedEOF)
	}
}

func TestBlobsNeverServeCorruptOnes(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	registry := startRegistry(t, onPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if broken.Load() {
			corrupt(next, w, req)
			return
		}
		next.ServeHTTP(w, req)
	}))
	image := large(3)
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	address := s.layerURL(registry, pushed.Kernel)
	for range 2 {
		if got := get(t, address); got.Status != http.StatusOK || !errors.Is(got.Err, io.ErrUnexpectedEOF) || len(got.Body) >= len(image.Kernel) {
			t.Errorf("whole: status %d, %d bytes of %d, error %v", got.Status, len(got.Body), len(image.Kernel), got.Err)
		}
		// The damage is elsewhere, but nobody may rely on that.
		if got := request(t, http.MethodGet, address, http.Header{"Range": {"bytes=0-9"}}); got.Status != http.StatusBadGateway {
			t.Errorf("part: status %d, want 502", got.Status)
		}
		expectFiles(t, s, 0, 0)
	}
	broken.Store(false)
	if got := get(t, address); got.Err != nil || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("mended: status %d, %d bytes, error %v", got.Status, len(got.Body), got.Err)
	}
	expectFiles(t, s, 1, int64(len(image.Kernel)))
}

// expectFiles checks what the cache has on disk against what it says.
func expectFiles(t *testing.T, s *serving, blobs int, used int64) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(s.opts.Dir, "sha256"))
	if err != nil || len(files) != blobs {
		t.Errorf("%d blobs on disk (%v), want %d", len(files), err, blobs)
	}
	partial, err := os.ReadDir(filepath.Join(s.opts.Dir, "partial"))
	if err != nil || len(partial) != 0 {
		t.Errorf("%d partial downloads on disk (%v), want none", len(partial), err)
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.store.used != used || len(s.store.blobs) != blobs || s.store.recent.Len() != blobs {
		t.Errorf("%d bytes used by %d blobs (%d in order), want %d by %d", s.store.used, len(s.store.blobs), s.store.recent.Len(), used, blobs)
	}
}

func TestBlobsResume(t *testing.T) {
	var ranges []string
	var mu sync.Mutex
	registry := startRegistry(t, onPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		ranges = append(ranges, req.Header.Get("Range"))
		mu.Unlock()
		recorder := recorded(next, req)
		body := recorder.Body.Bytes()
		if len(body) > 1<<20 {
			body = body[:1<<20] // then the connection breaks
		}
		replay(w, recorder, body)
	}))
	image := large(4)
	image.Kernel = image.Kernel[:1<<20+1<<19]
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	got := get(t, s.layerURL(registry, pushed.Kernel))
	if got.Err != nil || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("status %d, %d bytes of %d, error %v", got.Status, len(got.Body), len(image.Kernel), got.Err)
	}
	want := []string{"", fmt.Sprintf("bytes=%d-%d", 1<<20, len(image.Kernel)-1)}
	if diff := cmp.Diff(want, ranges); diff != "" {
		t.Errorf("ranges asked for (-want +got):\n%s", diff)
	}
}

// A registry that ignores ranges sends the blob from its beginning again.
func TestBlobsResumeWithoutRanges(t *testing.T) {
	var first atomic.Bool
	first.Store(true)
	registry := startRegistry(t, onPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		req.Header.Del("Range")
		recorder := recorded(next, req)
		body := recorder.Body.Bytes()
		if first.Swap(false) {
			body = body[:len(body)/2]
		}
		replay(w, recorder, body)
	}))
	image := large(5)
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	if got := get(t, s.layerURL(registry, pushed.Kernel)); got.Err != nil || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("status %d, %d bytes of %d, error %v", got.Status, len(got.Body), len(image.Kernel), got.Err)
	}
}

func TestBlobsFollowRedirectsThemselves(t *testing.T) {
	var storage string
	registry := startRegistry(t, onPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("signed") == "" {
			http.Redirect(w, req, storage+req.URL.Path+"?signed=1", http.StatusTemporaryRedirect)
			return
		}
		next.ServeHTTP(w, req)
	}))
	image := tiny("a")
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	// A relative location, at the registry itself.
	if got := get(t, s.layerURL(registry, pushed.Kernel)); got.Status != http.StatusOK || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("relative: status %d, %s", got.Status, got.Body)
	}
	// A place on this host that is no allowed registry.
	storage = "http://127.0.0.1:1"
	if got := get(t, s.layerURL(registry, pushed.Initramfs)); got.Status != http.StatusBadGateway {
		t.Errorf("to this host: status %d, want 502", got.Status)
	}
}

func TestBlobsAnswerErrors(t *testing.T) {
	registry := startRegistry(t)
	pushed := push(t, registry, "v1", tiny("a"))
	s := startBlobs(t, registryOptions(registry))
	name := registry.Address() + "/org/os"
	query := func(pairs ...string) string {
		values := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return "/image?" + values.Encode()
	}
	hex := strings.TrimPrefix(testDigest, "sha256:")
	for _, tt := range []struct {
		name, path string
		want       int
	}{
		{"no parameter", "/image", 404},
		{"no layer", query("imageName", name, "version", "v1"), 404},
		{"no name", query("version", "v1", "layerDigest", pushed.Kernel), 404},
		{"no version for a name", query("imageName", name, "layerName", "kernel"), 404},
		{"unknown blob", query("imageName", name, "version", "v1", "layerDigest", testDigest), 404},
		{"unknown layer", query("imageName", name, "version", "v1", "layerName", "dtb"), 404},
		{"unknown version", query("imageName", name, "version", "v2", "layerName", "kernel"), 404},
		{"digest of another kind", query("imageName", name, "version", "v1", "layerDigest", "sha512:00"), 400},
		{"digest that is a path", query("imageName", name, "version", "v1", "layerDigest", "sha256:../../../etc/passwd"), 400},
		{"short digest", query("imageName", name, "version", "v1", "layerDigest", "sha256:00"), 400},
		{"digest with a newline", query("imageName", name, "version", "v1", "layerDigest", testDigest+"\n"), 400},
		{"version with a bad digest", query("imageName", name, "version", "sha256:00", "layerName", "kernel"), 400},
		{"name that is none", query("imageName", "../..", "version", "v1", "layerDigest", testDigest), 400},
		{"other registry", query("imageName", "quay.io/org/os", "version", "v1", "layerDigest", testDigest), 403},
		{"other port", query("imageName", "127.0.0.1:1/org/os", "version", "v1", "layerDigest", testDigest), 403},
		{"UKI of another registry", "/httpboot/quay.io/org/os/sha256-" + hex + ".efi", 403},
		{"UKI unknown", "/httpboot/" + name + "/sha256-" + hex + ".efi", 404},
		{"UKI without a registry", "/httpboot/sha256-" + hex + ".efi", 404},
		{"UKI of another type", "/httpboot/" + name + "/sha256-" + hex + ".iso", 404},
		{"UKI with a bad digest", "/httpboot/" + name + "/sha256-00.efi", 400},
		{"UKI with an upper-case digest", "/httpboot/" + name + "/sha256-" + strings.ToUpper(hex) + ".efi", 400},
		{"UKI with a path", "/httpboot/" + name + "/..%2f..%2fsha256-" + hex + ".efi", 400},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := request(t, method, s.URL+tt.path, nil)
			if got.Status != tt.want {
				t.Errorf("%s %s: status %d, want %d: %s", method, tt.name, got.Status, tt.want, got.Body)
			}
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		for _, address := range []string{s.layerURL(registry, pushed.Kernel), s.ukiURL(registry, pushed.Kernel)} {
			got := request(t, method, address, nil)
			if got.Status != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: status %d, Allow %q", method, got.Status, got.Header.Get("Allow"))
			}
		}
	}
	expectFiles(t, s, 0, 0)
}

func TestBlobsAnswerForTheRegistry(t *testing.T) {
	hang := func(_ http.Handler, _ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	status := func(code int) func(http.Handler, http.ResponseWriter, *http.Request) {
		return func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	unsized := func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		recorder := recorded(next, req)
		_ = http.NewResponseController(w).Flush() // before the length is known
		_, _ = w.Write(recorder.Body.Bytes())
	}
	for _, tt := range []struct {
		name   string
		handle func(http.Handler, http.ResponseWriter, *http.Request)
		want   int
	}{
		{"hanging", hang, 504},
		{"denying", status(401), 502},
		{"failing", status(500), 502},
		{"without length", unsized, 502},
	} {
		t.Run(tt.name, func(t *testing.T) {
			registry := startRegistry(t, onPath("/blobs/", tt.handle))
			pushed := push(t, registry, "v1", tiny("a"))
			o := registryOptions(registry)
			if tt.name == "hanging" {
				o.Timeout = 50 * time.Millisecond
			}
			s := startBlobs(t, o)
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				got := request(t, method, s.layerURL(registry, pushed.Kernel), nil)
				if got.Status != tt.want {
					t.Errorf("%s: status %d, want %d: %s", method, got.Status, tt.want, got.Body)
				}
			}
		})
	}
	t.Run("away", func(t *testing.T) {
		registry := startRegistry(t)
		pushed := push(t, registry, "v1", tiny("a"))
		s := startBlobs(t, registryOptions(registry))
		byName := s.URL + "/image?" + url.Values{"imageName": {registry.Address() + "/org/os"}, "version": {pushed.Digest}, "layerName": {"kernel"}}.Encode()
		if got := get(t, byName); got.Status != http.StatusOK {
			t.Fatalf("status %d: %s", got.Status, got.Body)
		}
		registry.SetAway(true)
		if got := get(t, s.layerURL(registry, pushed.Squashfs)); got.Status != http.StatusBadGateway {
			t.Errorf("not cached: status %d, want 502", got.Status)
		}
		if got := get(t, byName); got.Status != http.StatusOK {
			t.Errorf("cached: status %d, want 200", got.Status)
		}
		registry.SetAway(false)
		if got := get(t, s.layerURL(registry, pushed.Squashfs)); got.Status != http.StatusOK {
			t.Errorf("back again: status %d, want 200", got.Status)
		}
	})
}

func TestBlobsHeadOfDescribedAsksNobody(t *testing.T) {
	registry := startRegistry(t)
	pushed := push(t, registry, "v1", tiny("a"))
	s := startBlobs(t, registryOptions(registry))
	plan := Plan{Registry: registry.Address(), Repository: "org/os", Tag: "v1", Kernel: &Layer{Digest: pushed.Kernel, Size: 4711}}
	s.Describe(plan)
	got := request(t, http.MethodHead, LayerURL(s.URL, plan, *plan.Kernel), nil)
	if got.Status != http.StatusOK || got.Header.Get("Content-Length") != "4711" {
		t.Errorf("status %d, length %s", got.Status, got.Header.Get("Content-Length"))
	}
	if counts := registry.Counts(); counts != (localregistry.Counts{}) {
		t.Errorf("requests upstream: %+v, want none", counts)
	}
}

func TestBlobsServeAnEmptyLayer(t *testing.T) {
	registry := startRegistry(t)
	pushed := push(t, registry, "v1", localregistry.Image{Kernel: []byte{}})
	s := startBlobs(t, registryOptions(registry))
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		got := request(t, method, s.layerURL(registry, pushed.Kernel), nil)
		if got.Status != http.StatusOK || got.Err != nil || len(got.Body) != 0 {
			t.Errorf("%s: status %d, %d bytes, error %v", method, got.Status, len(got.Body), got.Err)
		}
	}
}

func TestBlobsCloseCutsClientsOff(t *testing.T) {
	held := newGate()
	registry := startRegistry(t, halfway(held))
	t.Cleanup(held.release)
	pushed := push(t, registry, "v1", large(6))
	s := startBlobs(t, registryOptions(registry))
	resp, err := http.Get(s.layerURL(registry, pushed.Kernel))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want %v", err, io.ErrUnexpectedEOF)
	}
	if got := get(t, s.layerURL(registry, pushed.Initramfs)); got.Status != http.StatusServiceUnavailable {
		t.Errorf("after Close: status %d, want 503", got.Status)
	}
	expectFiles(t, s, 0, 0)
}
