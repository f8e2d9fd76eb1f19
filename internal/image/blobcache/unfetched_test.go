package blobcache

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/test/await"
)

// TestUnfetchedIsWhatAnOwnerLacks: of the owners of a layer that is not what its digest says, until it is, or they pin it no more.
func TestUnfetchedIsWhatAnOwnerLacks(t *testing.T) {
	var broken atomic.Value
	broken.Store("nothing yet")
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, broken.Load().(string)) {
			imagetest.Corrupt(next, w, r)
			return
		}
		next.ServeHTTP(w, r)
	}))
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	broken.Store(pushed.Kernel)
	options := registryOptions(remote)
	options.MinBackoff, options.MaxBackoff = time.Millisecond, time.Millisecond
	s := startBlobs(t, options)
	good, other := planOf(remote, "org/os", image, pushed), planOf(remote, "org/os", image, pushed)
	other.Kernel = nil
	for owner, plan := range map[string]registry.Plan{"ns/one": good, "ns/two": good, "ns/three": other} {
		if err := s.Pin(owner, registry.Pin{Plan: plan}); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "what two owners lack", func() string {
		got := s.Unfetched()
		for _, owner := range []string{"ns/one", "ns/two"} {
			if e := got[owner]; e.Layer != pushed.Kernel || e.Error() != registry.ErrCorrupt.Error()+": "+remote.Address()+"/org/os@"+pushed.Kernel {
				return fmt.Sprint(got)
			}
		}
		if len(got) != 2 {
			return fmt.Sprint(got)
		}
		return ""
	})
	s.Unpin("ns/two")
	if got := s.Unfetched(); len(got) != 1 {
		t.Errorf("an owner that pins nothing lacks something: %v", got)
	}
	broken.Store("nothing any more")
	await.True(t, "the layer", func() bool { return len(s.Unfetched()) == 0 && s.store.has(pushed.Kernel) })
}

// TestTheCauseHasNoDetails: an error that says something else at each attempt would be news each time.
func TestTheCauseHasNoDetails(t *testing.T) {
	for _, cause := range causes {
		if got := causeOf(fmt.Errorf("read tcp 127.0.0.1:40123: %w", cause)); !errors.Is(got, cause) || got.Error() != cause.Error() {
			t.Errorf("the cause of %v is %v", cause, got)
		}
	}
	if got := causeOf(errors.New("write /var/lib/x-4711: input/output error")); !errors.Is(got, errUnfetched) {
		t.Errorf("the cause of another error is %v", got)
	}
}
