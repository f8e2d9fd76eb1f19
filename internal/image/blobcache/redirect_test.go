package blobcache

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// TestRedirectsToThisHostAreFollowedWhereTheyAreAllowed: by network, where the storage is not named itself.
func TestRedirectsToThisHostAreFollowedWhereTheyAreAllowed(t *testing.T) {
	var asked int
	content := imagetest.Tiny("elsewhere").Kernel
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write(content)
	}))
	t.Cleanup(storage.Close)
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, storage.URL, http.StatusTemporaryRedirect)
	}))
	for _, c := range []struct {
		networks []netip.Prefix
		status   int
	}{{nil, http.StatusBadGateway}, {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, http.StatusOK}} {
		o := registryOptions(remote)
		o.AllowedNetworks = c.networks
		s := startBlobs(t, o)
		if got := get(t, s.layerURL(remote, registry.DigestOf(content))); got.Status != c.status {
			t.Errorf("%v: status %d, want %d: %s", c.networks, got.Status, c.status, got.Body)
		}
		if len(c.networks) == 0 && asked > 0 {
			t.Error("the storage was asked")
		}
	}
}
