package blobcache

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

func TestBlobsServeGetAndHead(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Tiny("a")
	image.UKI = []byte("MZ uki")
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	byName := s.URL + "/image?" + url.Values{"imageName": {remote.Address() + "/org/os"}, "version": {"v1"}, "layerName": {"squashfs"}}.Encode()
	byDigestAndName := s.URL + "/image?" + url.Values{"imageName": {remote.Address() + "/org/os"}, "version": {pushed.Digest},
		"layerName": {"squashfs"}, "layerDigest": {pushed.Initramfs}}.Encode()
	for _, tt := range []struct {
		name, url, contentType, digest string
		want                           []byte
	}{
		{"kernel", s.layerURL(remote, pushed.Kernel), "application/octet-stream", pushed.Kernel, image.Kernel},
		{"layer by name", byName, "application/octet-stream", pushed.Squashfs, image.Squashfs},
		{"digest before name", byDigestAndName, "application/octet-stream", pushed.Initramfs, image.Initramfs},
		{"UKI", s.ukiURL(remote, pushed.UKI), "application/efi", pushed.UKI, image.UKI},
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
	if n := remote.Counts().Heads; n != 0 {
		t.Errorf("%d HEAD requests upstream, want none", n)
	}
}

func TestBlobsServeRanges(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Large(1)
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	address := s.layerURL(remote, pushed.Kernel)
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
	if n := remote.Counts().Blobs; n != 1 {
		t.Errorf("%d blob requests upstream, want 1", n)
	}
	unchanged := request(t, http.MethodGet, address, http.Header{"If-None-Match": {`"` + pushed.Kernel + `"`}})
	if unchanged.Status != http.StatusNotModified {
		t.Errorf("status %d for a client that has it, want 304", unchanged.Status)
	}
}

func TestBlobsAnswerErrors(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	s := startBlobs(t, registryOptions(remote))
	name := remote.Address() + "/org/os"
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
		for _, address := range []string{s.layerURL(remote, pushed.Kernel), s.ukiURL(remote, pushed.Kernel)} {
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
		recorder := imagetest.Recorded(next, req)
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
		{"looping", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, req.URL.Path, http.StatusTemporaryRedirect)
		}, 502},
		{"pointing at a neighbour", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		}, 502},
		{"pointing nowhere", status(http.StatusFound), 502},
	} {
		t.Run(tt.name, func(t *testing.T) {
			remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", tt.handle))
			pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
			o := registryOptions(remote)
			if tt.name == "hanging" {
				o.Timeout = 50 * time.Millisecond
			}
			s := startBlobs(t, o)
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				got := request(t, method, s.layerURL(remote, pushed.Kernel), nil)
				if got.Status != tt.want {
					t.Errorf("%s: status %d, want %d: %s", method, got.Status, tt.want, got.Body)
				}
			}
		})
	}
	t.Run("away", func(t *testing.T) {
		remote := imagetest.StartRegistry(t)
		pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
		s := startBlobs(t, registryOptions(remote))
		byName := s.URL + "/image?" + url.Values{"imageName": {remote.Address() + "/org/os"}, "version": {pushed.Digest}, "layerName": {"kernel"}}.Encode()
		if got := get(t, byName); got.Status != http.StatusOK {
			t.Fatalf("status %d: %s", got.Status, got.Body)
		}
		remote.SetAway(true)
		if got := get(t, s.layerURL(remote, pushed.Squashfs)); got.Status != http.StatusBadGateway {
			t.Errorf("not cached: status %d, want 502", got.Status)
		}
		if got := get(t, byName); got.Status != http.StatusOK {
			t.Errorf("cached: status %d, want 200", got.Status)
		}
		remote.SetAway(false)
		if got := get(t, s.layerURL(remote, pushed.Squashfs)); got.Status != http.StatusOK {
			t.Errorf("back again: status %d, want 200", got.Status)
		}
	})
}

func TestBlobsServeAnEmptyLayer(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	pushed := imagetest.Push(t, remote, "v1", localregistry.Image{Kernel: []byte{}})
	s := startBlobs(t, registryOptions(remote))
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		got := request(t, method, s.layerURL(remote, pushed.Kernel), nil)
		if got.Status != http.StatusOK || got.Err != nil || len(got.Body) != 0 {
			t.Errorf("%s: status %d, %d bytes, error %v", method, got.Status, len(got.Body), got.Err)
		}
	}
}
