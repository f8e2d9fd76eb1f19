package image

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// TestRedirectsToThisHostAreFollowedWhereTheyAreAllowed: by network, where the storage is not named itself.
func TestRedirectsToThisHostAreFollowedWhereTheyAreAllowed(t *testing.T) {
	var asked int
	content := tiny("elsewhere").Kernel
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write(content)
	}))
	t.Cleanup(storage.Close)
	registry := startRegistry(t, onPath("/blobs/", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, storage.URL, http.StatusTemporaryRedirect)
	}))
	for _, c := range []struct {
		networks []netip.Prefix
		status   int
	}{{nil, http.StatusBadGateway}, {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, http.StatusOK}} {
		o := registryOptions(registry)
		o.AllowedNetworks = c.networks
		s := startBlobs(t, o)
		if got := get(t, s.layerURL(registry, digestOf(content))); got.Status != c.status {
			t.Errorf("%v: status %d, want %d: %s", c.networks, got.Status, c.status, got.Body)
		}
		if len(c.networks) == 0 && asked > 0 {
			t.Error("the storage was asked")
		}
	}
}
