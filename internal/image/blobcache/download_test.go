package blobcache

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

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

// halfway sends half of each blob, then waits at a gate.
func halfway(held *imagetest.Gate) localregistry.Middleware {
	return imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		recorder := imagetest.Recorded(next, req)
		body := recorder.Body.Bytes()
		imagetest.Replay(w, recorder, body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		held.Pass(req.Context())
		_, _ = w.Write(body[len(body)/2:])
	})
}

func TestBlobsAreFetchedOnceAndStreamed(t *testing.T) {
	const clients = 50
	held := imagetest.NewGate()
	remote := imagetest.StartRegistry(t, halfway(held))
	t.Cleanup(held.Release)
	image := imagetest.Large(2)
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	s.boots(t, remote, pushed.Kernel, image.Kernel)
	address := s.layerURL(remote, pushed.Kernel)

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
	held.Release()
	ends.Wait()
	counts := remote.Counts()
	counts.Manifests = 0
	if diff := cmp.Diff(localregistry.Counts{Blobs: counts.Blobs, BlobBytes: counts.BlobBytes}, counts); diff != "" {
		t.Errorf("requests upstream (-want +got):\n%s", diff)
	}
	if limit := int64(len(image.Kernel) + 1); counts.BlobBytes > limit {
		t.Errorf("%d bytes upstream for %d clients, want at most %d", counts.BlobBytes, clients, limit)
	}
}

func TestBlobsHoldTheLastByteBack(t *testing.T) {
	held := imagetest.NewGate()
	var body []byte
	// Everything but the end of the answer arrives.
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		recorder := imagetest.Recorded(next, req)
		imagetest.Replay(w, recorder, recorder.Body.Bytes()[:len(body)-1])
		_ = http.NewResponseController(w).Flush()
		held.Pass(req.Context())
		_, _ = w.Write([]byte{^body[len(body)-1]})
	}))
	t.Cleanup(held.Release)
	image := imagetest.Tiny("a")
	body = image.Kernel
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	s.boots(t, remote, pushed.Kernel, image.Kernel)
	resp, err := http.Get(s.layerURL(remote, pushed.Kernel))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	held.Release()
	got, err := io.ReadAll(resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) >= len(body) {
		t.Errorf("%d bytes of %d, error %v; want fewer and %v", len(got), len(body), err, io.ErrUnexpectedEOF)
	}
}

func TestBlobsNeverServeCorruptOnes(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if broken.Load() {
			imagetest.Corrupt(next, w, req)
			return
		}
		next.ServeHTTP(w, req)
	}))
	image := imagetest.Large(3)
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	s.boots(t, remote, pushed.Kernel, image.Kernel)
	address := s.layerURL(remote, pushed.Kernel)
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
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		ranges = append(ranges, req.Header.Get("Range"))
		mu.Unlock()
		recorder := imagetest.Recorded(next, req)
		body := recorder.Body.Bytes()
		if len(body) > 1<<20 {
			body = body[:1<<20] // then the connection breaks
		}
		imagetest.Replay(w, recorder, body)
	}))
	image := imagetest.Large(4)
	image.Kernel = image.Kernel[:1<<20+1<<19]
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	s.boots(t, remote, pushed.Kernel, image.Kernel)
	got := get(t, s.layerURL(remote, pushed.Kernel))
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
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		req.Header.Del("Range")
		recorder := imagetest.Recorded(next, req)
		body := recorder.Body.Bytes()
		if first.Swap(false) {
			body = body[:len(body)/2]
		}
		imagetest.Replay(w, recorder, body)
	}))
	image := imagetest.Large(5)
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	s.boots(t, remote, pushed.Kernel, image.Kernel)
	if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Err != nil || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("status %d, %d bytes of %d, error %v", got.Status, len(got.Body), len(image.Kernel), got.Err)
	}
}

func TestBlobsFollowRedirectsThemselves(t *testing.T) {
	var storage string
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("signed") == "" {
			http.Redirect(w, req, storage+req.URL.Path+"?signed=1", http.StatusTemporaryRedirect)
			return
		}
		next.ServeHTTP(w, req)
	}))
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	// A relative location, at the registry itself.
	if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Status != http.StatusOK || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("relative: status %d, %s", got.Status, got.Body)
	}
	// A place on this host that is no allowed registry.
	storage = "http://127.0.0.1:1"
	if got := get(t, s.layerURL(remote, pushed.Initramfs)); got.Status != http.StatusBadGateway {
		t.Errorf("to this host: status %d, want 502", got.Status)
	}
}

func TestBlobsCloseCutsClientsOff(t *testing.T) {
	held := imagetest.NewGate()
	remote := imagetest.StartRegistry(t, halfway(held))
	t.Cleanup(held.Release)
	image := imagetest.Large(6)
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	s.boots(t, remote, pushed.Kernel, image.Kernel)
	resp, err := http.Get(s.layerURL(remote, pushed.Kernel))
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
	if got := get(t, s.layerURL(remote, pushed.Initramfs)); got.Status != http.StatusServiceUnavailable {
		t.Errorf("after Close: status %d, want 503", got.Status)
	}
	expectFiles(t, s, 0, 0)
}
