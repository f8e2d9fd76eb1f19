package image

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

// patience is how long a test waits for what must happen, and is never reached.
const patience = 3 * time.Minute

func startRegistry(t *testing.T, middleware ...localregistry.Middleware) *localregistry.Registry {
	t.Helper()
	r, err := localregistry.Start(t.Context(), "127.0.0.1:0", middleware...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func push(t *testing.T, r *localregistry.Registry, tag string, image localregistry.Image) localregistry.Pushed {
	t.Helper()
	pushed, err := r.Push(t.Context(), "org/os", tag, image)
	if err != nil {
		t.Fatal(err)
	}
	return pushed
}

// tiny is the least that boots, different for each content.
func tiny(content string) localregistry.Image {
	return localregistry.Image{
		Kernel:    []byte("kernel " + content),
		Initramfs: []byte("initramfs " + content),
		Squashfs:  []byte("squashfs " + content),
	}
}

// large has a layer that is more than buffers hold: 2 MiB.
func large(seed uint64) localregistry.Image {
	return localregistry.Image{Kernel: localregistry.SmallImage(seed).Kernel, Initramfs: []byte("initramfs")}
}

func registryOptions(r *localregistry.Registry) Options {
	return Options{AllowedRegistries: []string{r.Address()}, PlainHTTP: []string{r.Address()}}
}

// onPath is a middleware for GET requests whose path contains a text; the
// registry's own requests (pushes) pass.
func onPath(text string, handle func(next http.Handler, w http.ResponseWriter, req *http.Request)) localregistry.Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodGet && strings.Contains(req.URL.Path, text) && req.Header.Get("X-Local-Registry") == "" {
				handle(next, w, req)
				return
			}
			next.ServeHTTP(w, req)
		})
	}
}

// recorded returns what a handler would answer.
func recorded(next http.Handler, req *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	next.ServeHTTP(recorder, req)
	return recorder
}

// replay sends a recorded answer with another body.
func replay(w http.ResponseWriter, recorder *httptest.ResponseRecorder, body []byte) {
	for name, values := range recorder.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(body)
}

// huge has a layer of which half is worth keeping.
func huge(seed uint64) localregistry.Image {
	return localregistry.Image{Kernel: bytes.Repeat(localregistry.SmallImage(seed).Kernel, 5), Initramfs: []byte("initramfs")}
}

// corrupt flips the last bit of an answer.
func corrupt(next http.Handler, w http.ResponseWriter, req *http.Request) {
	recorder := recorded(next, req)
	body := bytes.Clone(recorder.Body.Bytes())
	if len(body) > 0 {
		body[len(body)-1] ^= 1
	}
	replay(w, recorder, body)
}

// gate holds requests up until it is opened.
type gate struct {
	open    chan struct{}
	arrived chan struct{}
	once    sync.Once
}

func newGate() *gate { return &gate{open: make(chan struct{}), arrived: make(chan struct{}, 1000)} }

func (g *gate) pass(ctx context.Context) {
	g.arrived <- struct{}{}
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

func (g *gate) awaitArrivals(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-g.arrived:
		case <-time.After(patience):
			t.Fatal("nobody came")
		}
	}
}
