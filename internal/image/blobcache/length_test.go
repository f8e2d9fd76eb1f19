package blobcache

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
)

// impatient is a clock for which every pause is over.
type impatient struct{ clock.RealClock }

func (impatient) After(time.Duration) <-chan time.Time {
	over := make(chan time.Time, 1)
	over <- time.Now()
	return over
}

// TestBlobsOfTheWrongLength: a registry may send less or more than the blob is, and say so or not. No client ever gets a
// whole answer of it, nothing is kept, and when the registry is mended so is the answer.
func TestBlobsOfTheWrongLength(t *testing.T) {
	sized := func(change func([]byte) []byte, claims func(sent, whole int) int) func(http.ResponseWriter, []byte) {
		return func(w http.ResponseWriter, body []byte) {
			sent := change(body)
			w.Header().Set("Content-Length", strconv.Itoa(claims(len(sent), len(body))))
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write(sent) // more than was claimed is refused, and less ends the connection
		}
	}
	less := func(b []byte) []byte { return b[:len(b)/2] }
	more := func(b []byte) []byte { return slices.Concat(b, []byte("more")) }
	asSent := func(sent, _ int) int { return sent }
	asIs := func(_, whole int) int { return whole }
	for name, answer := range map[string]func(http.ResponseWriter, []byte){
		"half of it":                sized(less, asSent),
		"half of it, called whole":  sized(less, asIs),
		"nothing":                   sized(func([]byte) []byte { return nil }, asSent),
		"nothing, called whole":     sized(func([]byte) []byte { return nil }, asIs),
		"more than it is":           sized(more, asSent),
		"called half of what it is": sized(bytes.Clone, func(_, whole int) int { return whole / 2 }),
		"called far more than all":  sized(bytes.Clone, func(int, int) int { return 1 << 62 }),
	} {
		t.Run(name, func(t *testing.T) {
			var mended atomic.Bool
			remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
				if mended.Load() {
					next.ServeHTTP(w, req)
					return
				}
				req.Header.Del("Range")
				answer(w, imagetest.Recorded(next, req).Body.Bytes())
			}))
			image := imagetest.Large(7)
			pushed := imagetest.Push(t, remote, "v1", image)
			o := registryOptions(remote)
			o.Clock = impatient{}
			s := startBlobs(t, o)
			s.boots(t, remote, pushed.Kernel, nil) // nobody knows how large it is
			address := s.layerURL(remote, pushed.Kernel)
			for _, header := range []http.Header{nil, {"Range": {"bytes=0-9"}}} {
				if got := request(t, http.MethodGet, address, header); got.Err == nil && got.Status < 300 {
					t.Errorf("%v: status %d, and all of %d bytes", header, got.Status, len(got.Body))
				}
				expectFiles(t, s, 0, 0)
			}
			mended.Store(true)
			if got := get(t, address); got.Err != nil || !bytes.Equal(got.Body, image.Kernel) {
				t.Errorf("mended: status %d, %d bytes, %v", got.Status, len(got.Body), got.Err)
			}
		})
	}
}
