package blobcache

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// asked is a registry's middleware that notes the ranges that are asked for, and
// passes half of each blob while it is broken.
type recorder struct {
	broken atomic.Bool
	mu     sync.Mutex
	ranges []string
}

func (a *recorder) middleware() localregistry.Middleware {
	return imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		a.mu.Lock()
		a.ranges = append(a.ranges, req.Header.Get("Range"))
		a.mu.Unlock()
		if !a.broken.Load() {
			next.ServeHTTP(w, req)
			return
		}
		if req.Header.Get("Range") != "" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		recorder := imagetest.Recorded(next, req)
		imagetest.Replay(w, recorder, recorder.Body.Bytes()[:recorder.Body.Len()/2])
	})
}

func (a *recorder) last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ranges[len(a.ranges)-1]
}

// plant puts half of a blob where a killed run would have left it.
func plant(t *testing.T, dir, digest string, content []byte) {
	t.Helper()
	path := filepath.Join(dir, "partial", strings.Replace(partialPattern(digest, int64(len(content))), "*", "1", 1))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)/2], 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenDownloadsAreTakenUpAgain(t *testing.T) {
	var a recorder
	remote := imagetest.StartRegistry(t, a.middleware())
	image := imagetest.Huge(11)
	pushed := imagetest.Push(t, remote, "v1", image)
	half := fmt.Sprintf("bytes=%d-%d", len(image.Kernel)/2, len(image.Kernel)-1)
	o := registryOptions(remote)
	o.Dir = t.TempDir()

	for _, tt := range []struct {
		name    string
		restart func(t *testing.T, s *serving)
	}{
		{"in the same run", func(*testing.T, *serving) {}},
		{"after a restart", func(t *testing.T, s *serving) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := o
			o.Dir = t.TempDir()
			s := startBlobs(t, o)
			s.boots(t, remote, pushed.Kernel, image.Kernel)
			a.broken.Store(true)
			if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Err == nil {
				t.Fatal("half a blob was a whole one")
			}
			a.broken.Store(false)
			if tt.restart(t, s); tt.name != "in the same run" {
				s = startBlobs(t, o)
				s.boots(t, remote, pushed.Kernel, image.Kernel)
			}
			if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Err != nil || !bytes.Equal(got.Body, image.Kernel) {
				t.Errorf("status %d, %d bytes, error %v", got.Status, len(got.Body), got.Err)
			}
			if diff := cmp.Diff(half, a.last()); diff != "" {
				t.Errorf("range (-want +got):\n%s", diff)
			}
			expectFiles(t, s, 1, int64(len(image.Kernel)))
		})
	}
}

func TestWhatAKilledRunLeftIsTakenUp(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func([]byte)
		want   []string // ranges
	}{
		{"sound", func([]byte) {}, []string{"bytes=5242880-10485759"}},
		// The power went before all of it was written: zeros, and the digest is another.
		{"damaged", func(b []byte) { clear(b[100:200]) }, []string{"bytes=5242880-10485759", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var a recorder
			remote := imagetest.StartRegistry(t, a.middleware())
			image := imagetest.Huge(12)
			pushed := imagetest.Push(t, remote, "v1", image)
			o := registryOptions(remote)
			o.Dir = t.TempDir()
			left := bytes.Clone(image.Kernel)
			tt.change(left)
			plant(t, o.Dir, pushed.Kernel, left)
			s := startBlobs(t, o)
			s.boots(t, remote, pushed.Kernel, image.Kernel)
			got := request(t, http.MethodGet, s.layerURL(remote, pushed.Kernel), http.Header{"Range": {"bytes=50-249"}})
			if got.Err != nil || !bytes.Equal(got.Body, image.Kernel[50:250]) {
				t.Errorf("status %d, %d bytes, error %v", got.Status, len(got.Body), got.Err)
			}
			if diff := cmp.Diff(tt.want, a.ranges); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
			expectFiles(t, s, 1, int64(len(image.Kernel)))
		})
	}
}

// A partial blob waits while the registry is away, and tells nobody anything: whoever
// may not have the blob does not get half of it either.
func TestAPartialBlobNeedsTheRegistry(t *testing.T) {
	var locked atomic.Bool
	locked.Store(true)
	remote := imagetest.StartRegistry(t, imagetest.RobotOnly(&locked))
	image := imagetest.Huge(13)
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	o.Dir = t.TempDir()
	plant(t, o.Dir, pushed.Kernel, image.Kernel)
	s := startBlobs(t, o)
	s.boots(t, remote, pushed.Kernel, image.Kernel)
	for range 2 {
		if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Status != http.StatusBadGateway {
			t.Errorf("status %d, want 502", got.Status)
		}
	}
	locked.Store(false)
	before := remote.Counts().BlobBytes
	if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Err != nil || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("status %d, %d bytes, error %v", got.Status, len(got.Body), got.Err)
	}
	if n := remote.Counts().BlobBytes - before; n != int64(len(image.Kernel)/2) {
		t.Errorf("%d bytes upstream, want %d", n, len(image.Kernel)/2)
	}
}

func TestPartialBlobsAreBounded(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 3*minPartial)
	var digests []string
	for i := range maxPartials + 4 {
		digests = append(digests, registry.DigestOf([]byte{byte(i)}))
		plant(t, dir, digests[i], content)
	}
	plant(t, dir, registry.DigestOf([]byte("small")), content[:minPartial])
	s := newStore(t, dir, 1<<30)
	files, err := os.ReadDir(s.partialDir())
	if err != nil || len(files) != maxPartials || len(s.partials) != maxPartials || s.used != maxPartials*3*minPartial/2 {
		t.Errorf("%d files, %d partial blobs of %d bytes, %v", len(files), len(s.partials), s.used, err)
	}
	s = newStore(t, dir, 4*minPartial) // and with less room
	if len(s.partials) != 2 {
		t.Errorf("%d partial blobs in %d bytes, want 2", len(s.partials), s.max)
	}
	file, err := s.create(testDigest, 4*minPartial) // blobs come first
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.WriteString(file, "x"); err != nil || len(s.partials) != 0 {
		t.Errorf("%d partial blobs, %v", len(s.partials), err)
	}
	s.discard(file, 4*minPartial)
	if s.used != 0 {
		t.Errorf("%d bytes used, want none", s.used)
	}
}
