package registry

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
)

// TestManifestsAreAskedForInEveryForm: a registry answers 404 for an image whose type is not in the list.
func TestManifestsAreAskedForInEveryForm(t *testing.T) {
	var asked atomic.Int32
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/manifests/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		asked.Add(1)
		for _, want := range []string{
			"application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json",
			"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
		} {
			if !strings.Contains(strings.Join(req.Header.Values("Accept"), ","), want) {
				t.Errorf("%s is not asked for: %q", want, req.Header["Accept"])
			}
		}
		next.ServeHTTP(w, req)
	}))
	pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	r := startResolver(t, registryOptions(remote))
	if got := r.resolve(t, Request{Reference: remote.Reference("org/os", "v1")}); got.Err != nil || got.Plan.Digest != pushed.Digest || asked.Load() == 0 {
		t.Errorf("%+v after %d requests", got, asked.Load())
	}
}
