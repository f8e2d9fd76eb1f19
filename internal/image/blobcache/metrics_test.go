package blobcache

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
)

// TestTheCacheIsMeasured: what it has, what it was read for, and what it fetched for that.
func TestTheCacheIsMeasured(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	o.MaxBytes = 1 << 20
	s := startBlobs(t, o)
	s.boots(t, remote, pushed.Kernel, image.Kernel)
	for range 3 {
		if got := request(t, http.MethodGet, s.layerURL(remote, pushed.Kernel), nil); got.Status != http.StatusOK {
			t.Fatalf("status %d", got.Status)
		}
	}
	reads := testutil.ToFloat64(s.metrics.stored) + testutil.ToFloat64(s.metrics.joined)
	if reads < 3 || testutil.ToFloat64(s.metrics.stored) == 0 {
		t.Errorf("%g reads, %g of them from the disk", reads, testutil.ToFloat64(s.metrics.stored))
	}
	if n := testutil.ToFloat64(s.metrics.downloads.WithLabelValues("true", "stored")); n != 1 {
		t.Errorf("%g downloads", n)
	}
	want := fmt.Sprintf("# HELP farrier_image_cache_used_bytes What the cached layers of images take, with those on their way.\n"+
		"# TYPE farrier_image_cache_used_bytes gauge\nfarrier_image_cache_used_bytes %d\n"+
		"# HELP farrier_image_cache_limit_bytes What they may take.\n# TYPE farrier_image_cache_limit_bytes gauge\nfarrier_image_cache_limit_bytes %d\n",
		len(image.Kernel), o.MaxBytes)
	if err := testutil.CollectAndCompare(s.Cache, strings.NewReader(want), "farrier_image_cache_used_bytes", "farrier_image_cache_limit_bytes"); err != nil {
		t.Error(err)
	}
}
