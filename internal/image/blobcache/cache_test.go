package blobcache

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// BootServer makes the boot server in front of a Blobs. It imports this package: front_test.go sets it.
var BootServer func(t *testing.T, b *Cache, o Options) http.Handler

// serving is a Blobs under test behind a real server.
type serving struct {
	*Cache
	URL string
}

func startBlobs(t *testing.T, o Options) *serving {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(BootServer(t, b, b.opts))
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return &serving{Cache: b, URL: server.URL}
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
	ctx, cancel := context.WithTimeout(t.Context(), imagetest.Patience)
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

// boots has somebody boot a layer of org/os that nobody fetches ahead.
func (s *serving) boots(t *testing.T, r *localregistry.Registry, digest string, content []byte) {
	t.Helper()
	ref := registry.Reference{Registry: r.Address(), Repository: "org/os"}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins.blobs[blobKey{ref.Name(), digest}] = &pinnedBlob{
		ref: ref, digest: digest, size: int64(len(content)), owners: map[string]*auth.Client{"test": s.upstream.Anonymous},
	}
	s.store.pin(digest)
}

// layerURL is the URL of a layer that nobody has described.
func (s *serving) layerURL(r *localregistry.Registry, digest string) string {
	return registry.LayerURL(s.URL, registry.Plan{Registry: r.Address(), Repository: "org/os", Tag: "v1"}, registry.Layer{Digest: digest})
}

func (s *serving) ukiURL(r *localregistry.Registry, digest string) string {
	return registry.UKIURL(s.URL, registry.Plan{Registry: r.Address(), Repository: "org/os", UKI: &registry.Layer{Digest: digest}})
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
