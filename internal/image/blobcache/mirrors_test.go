package blobcache

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

func TestMirrorsAreAskedFirst(t *testing.T) {
	origin, mirror := imagetest.StartRegistry(t), imagetest.StartRegistry(t)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, origin, "v1", image)
	imagetest.Push(t, mirror, "v1", image)
	only := imagetest.Push(t, origin, "v2", imagetest.Tiny("not mirrored"))
	clk := testingclock.NewFakeClock(time.Now())
	o := registryOptions(origin)
	o.PlainHTTP = append(o.PlainHTTP, mirror.Address())
	o.Mirrors = map[string][]string{origin.Address(): {mirror.Address()}}
	o.Clock = clk
	s := startBlobs(t, o)

	for _, digest := range []string{pushed.Kernel, pushed.Initramfs, pushed.Squashfs, only.Kernel, only.Initramfs, only.Squashfs} {
		s.boots(t, origin, digest, nil)
	}
	expect := func(what, digest string, fromMirror, fromOrigin int) {
		t.Helper()
		before := [2]int{mirror.Counts().Blobs, origin.Counts().Blobs}
		if got := get(t, s.layerURL(origin, digest)); got.Status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", what, got.Status, got.Body)
		}
		if got := mirror.Counts().Blobs - before[0]; got != fromMirror {
			t.Errorf("%s: %d requests to the mirror, want %d", what, got, fromMirror)
		}
		if got := origin.Counts().Blobs - before[1]; got != fromOrigin {
			t.Errorf("%s: %d requests to the registry, want %d", what, got, fromOrigin)
		}
	}
	expect("mirrored", pushed.Kernel, 1, 0)
	expect("not mirrored", only.Kernel, 1, 1)
	expect("mirrored, after a miss", pushed.Initramfs, 1, 0)
	mirror.SetAway(true)
	expect("the mirror is away", pushed.Squashfs, 0, 1)
	mirror.SetAway(false)
	expect("it rests", only.Initramfs, 0, 1)
	clk.Step(registry.MirrorRest)
	expect("and is asked again", only.Squashfs, 1, 1)
}

// What a mirror sends is not believed: it costs one client its answer at most, and
// none that waits for a verified blob.
func TestAMirrorThatSendsGarbageBlocksNothing(t *testing.T) {
	longer := func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		recorder := imagetest.Recorded(next, req)
		imagetest.Replay(w, recorder, append(recorder.Body.Bytes(), "and more"...))
	}
	half := func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		recorder := imagetest.Recorded(next, req)
		w.Header().Set("Content-Length", strconv.Itoa(recorder.Body.Len()))
		_, _ = w.Write(recorder.Body.Bytes()[:recorder.Body.Len()/2])
	}
	for _, tt := range []struct {
		name   string
		handle func(next http.Handler, w http.ResponseWriter, req *http.Request)
		lost   bool // the client that streams loses its answer
	}{
		{"other bytes", imagetest.Corrupt, true},
		{"other bytes from the start", func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>welcome"))
		}, false},
		{"more bytes", longer, false},
		{"half", half, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			origin, mirror := imagetest.StartRegistry(t), imagetest.StartRegistry(t, imagetest.OnPath("/v2/org/", tt.handle))
			image := imagetest.Large(21)
			pushed := imagetest.Push(t, origin, "v1", image)
			imagetest.Push(t, mirror, "v1", image)
			o := registryOptions(origin)
			o.PlainHTTP = append(o.PlainHTTP, mirror.Address())
			o.Mirrors = map[string][]string{origin.Address(): {mirror.Address()}}
			plan := resolve(t, o.Options, registry.Request{Reference: origin.Address() + "/org/os@" + pushed.Digest})
			if plan.Err != nil {
				t.Errorf("manifest: %v", plan.Err)
			}

			whole, part := startBlobs(t, o), startBlobs(t, o)
			for _, s := range []*serving{whole, part} {
				s.boots(t, origin, pushed.Kernel, image.Kernel)
			}
			got := get(t, whole.layerURL(origin, pushed.Kernel))
			if lost := got.Err != nil; lost && !tt.lost || !lost && !bytes.Equal(got.Body, image.Kernel) {
				t.Errorf("first: status %d, %d bytes, error %v", got.Status, len(got.Body), got.Err)
			}
			if got = get(t, whole.layerURL(origin, pushed.Kernel)); got.Err != nil || !bytes.Equal(got.Body, image.Kernel) {
				t.Errorf("next: status %d, %d bytes, error %v", got.Status, len(got.Body), got.Err)
			}
			got = request(t, http.MethodGet, part.layerURL(origin, pushed.Kernel), http.Header{"Range": {"bytes=0-9"}})
			if got.Err != nil || !bytes.Equal(got.Body, image.Kernel[:10]) {
				t.Errorf("part: status %d, %d bytes, error %v", got.Status, len(got.Body), got.Err)
			}
		})
	}
}

// TestAStrangerDoesNotDecideWhichMirrorsRest: what he asks for may make a mirror fail.
func TestAStrangerDoesNotDecideWhichMirrorsRest(t *testing.T) {
	for name, handle := range map[string]func(http.Handler, http.ResponseWriter, *http.Request){
		"it fails": func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		},
		"it sends others":   imagetest.Corrupt,
		"it does not speak": func(http.Handler, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			var strange string
			origin := imagetest.StartRegistry(t)
			mirror := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
				if strings.HasSuffix(req.URL.Path, strange) {
					handle(next, w, req)
					return
				}
				next.ServeHTTP(w, req)
			}))
			image := imagetest.Tiny("a")
			pushed := imagetest.Push(t, origin, "v1", image)
			imagetest.Push(t, mirror, "v1", image)
			strange = pushed.Squashfs
			o := registryOptions(origin)
			o.PlainHTTP = append(o.PlainHTTP, mirror.Address())
			o.Mirrors = map[string][]string{origin.Address(): {mirror.Address()}}
			s := startBlobs(t, o)
			s.boots(t, origin, pushed.Kernel, image.Kernel)
			for _, method := range []string{http.MethodHead, http.MethodGet} {
				if got := request(t, method, s.layerURL(origin, strange), nil); got.Status != http.StatusOK {
					t.Errorf("%s: status %d: %s", method, got.Status, got.Body)
				}
			}
			asked := mirror.Counts().Blobs
			if got := get(t, s.layerURL(origin, pushed.Kernel)); got.Status != http.StatusOK || mirror.Counts().Blobs != asked+1 {
				t.Errorf("needed: status %d, and the mirror was not asked", got.Status)
			}
		})
	}
}
