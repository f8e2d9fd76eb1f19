package blobcache_test

import (
	"net/http"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
)

func init() {
	blobcache.BootServer = func(t *testing.T, b *blobcache.Cache, o blobcache.Options) http.Handler {
		s, err := bootserver.New(bootserver.Config{View: bootview.New(), Blobs: b, Clock: o.Clock, Logger: o.Logger})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}
