package imagetest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

// Patience is how long a test waits for what must happen, and is never reached.
const Patience = 3 * time.Minute

// StartRegistry starts a registry that ends with the test.
func StartRegistry(t *testing.T, middleware ...localregistry.Middleware) *localregistry.Registry {
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

// Push pushes an image to org/os.
func Push(t *testing.T, r *localregistry.Registry, tag string, image localregistry.Image) localregistry.Pushed {
	t.Helper()
	pushed, err := r.Push(t.Context(), "org/os", tag, image)
	if err != nil {
		t.Fatal(err)
	}
	return pushed
}

// Tiny is the least that boots, different for each content.
func Tiny(content string) localregistry.Image {
	return localregistry.Image{
		Kernel:    []byte("kernel " + content),
		Initramfs: []byte("initramfs " + content),
		Squashfs:  []byte("squashfs " + content),
	}
}

// Large has a layer that is more than buffers hold: 2 MiB.
func Large(seed uint64) localregistry.Image {
	return localregistry.Image{Kernel: bytes.Repeat(localregistry.SmallImage(seed).Kernel, 16), Initramfs: []byte("initramfs")}
}

// OnPath is a middleware for GET requests whose path contains a text; the
// registry's own requests (pushes) pass.
func OnPath(text string, handle func(next http.Handler, w http.ResponseWriter, req *http.Request)) localregistry.Middleware {
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

// Recorded returns what a handler would answer.
func Recorded(next http.Handler, req *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	next.ServeHTTP(recorder, req)
	return recorder
}

// Replay sends a recorded answer with another body.
func Replay(w http.ResponseWriter, recorder *httptest.ResponseRecorder, body []byte) {
	for name, values := range recorder.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(body)
}

// Huge has a layer of which half is worth keeping: 10 MiB.
func Huge(seed uint64) localregistry.Image {
	return localregistry.Image{Kernel: bytes.Repeat(localregistry.SmallImage(seed).Kernel, 80), Initramfs: []byte("initramfs")}
}

// Corrupt flips the last bit of an answer.
func Corrupt(next http.Handler, w http.ResponseWriter, req *http.Request) {
	recorder := Recorded(next, req)
	body := bytes.Clone(recorder.Body.Bytes())
	if len(body) > 0 {
		body[len(body)-1] ^= 1
	}
	Replay(w, recorder, body)
}

// Gate holds requests up until it is opened.
type Gate struct {
	open    chan struct{}
	Arrived chan struct{}
	once    sync.Once
}

// NewGate returns a gate that is closed.
func NewGate() *Gate { return &Gate{open: make(chan struct{}), Arrived: make(chan struct{}, 1000)} }

// Pass waits until the gate is open.
func (g *Gate) Pass(ctx context.Context) {
	g.Arrived <- struct{}{}
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

// Release opens the gate.
func (g *Gate) Release() { g.once.Do(func() { close(g.open) }) }

// AwaitArrivals waits until so many requests have come to the gate.
func (g *Gate) AwaitArrivals(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-g.Arrived:
		case <-time.After(Patience):
			t.Fatal("nobody came")
		}
	}
}

// RobotOnly refuses everybody without the password of the pull secret below, once it is locked.
func RobotOnly(locked *atomic.Bool) localregistry.Middleware {
	return OnPath("/v2/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if _, password, ok := req.BasicAuth(); locked.Load() && (!ok || password != "s3cret") {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, req)
	})
}

// RobotSecret is the pull secret of RobotOnly.
func RobotSecret(remote string) []byte {
	return fmt.Appendf(nil, `{"auths":{%q:{"username":"robot","password":"s3cret"}}}`, remote)
}
