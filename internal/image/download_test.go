package image

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

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
	s.boots(t, registry, pushed.Kernel, image.Kernel)
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
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(slices.Concat(half, rest), image.Kernel) {
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
	s.boots(t, registry, pushed.Kernel, image.Kernel)
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
	s.boots(t, registry, pushed.Kernel, image.Kernel)
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
	s.boots(t, registry, pushed.Kernel, image.Kernel)
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
	s.boots(t, registry, pushed.Kernel, image.Kernel)
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

func TestBlobsCloseCutsClientsOff(t *testing.T) {
	held := newGate()
	registry := startRegistry(t, halfway(held))
	t.Cleanup(held.release)
	image := large(6)
	pushed := push(t, registry, "v1", image)
	s := startBlobs(t, registryOptions(registry))
	s.boots(t, registry, pushed.Kernel, image.Kernel)
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
