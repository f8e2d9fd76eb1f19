package localregistry

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
)

// Registry is a running registry.
type Registry struct {
	server   *http.Server
	listener net.Listener
	served   chan struct{} // closed when the server has ended
	stop     func() bool   // ends watching the context

	away atomic.Bool

	mu     sync.Mutex
	counts Counts
}

// Counts says how often a registry was asked for what since it started.
type Counts struct {
	Manifests int   // GET of a manifest
	Blobs     int   // GET of a blob, ranges included
	BlobBytes int64 // bytes sent of blobs
	Heads     int   // HEAD of anything
}

// Middleware stands between clients and the registry; tests use it to break things.
type Middleware func(http.Handler) http.Handler

const headerTimeout = 10 * time.Second

// Start runs a registry at an address, such as 127.0.0.1:0 for any free port,
// until the context ends or Stop is called. The first middleware is the outermost.
func Start(ctx context.Context, address string, middleware ...Middleware) (*Registry, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("local registry: %w", err)
	}
	handler := registry.New(registry.Logger(quiet), registry.WithBlobHandler(registry.NewInMemoryBlobHandler()))
	for i := range middleware {
		handler = middleware[len(middleware)-1-i](handler)
	}
	return serve(ctx, listener, handler), nil
}

// quiet says nothing: what clients do wrong they are told.
var quiet = log.New(io.Discard, "", 0)

func serve(ctx context.Context, listener net.Listener, handler http.Handler) *Registry {
	r := &Registry{listener: listener, served: make(chan struct{})}
	r.server = &http.Server{Handler: hostcheck.Handler(r.count(handler)), ReadHeaderTimeout: headerTimeout, ErrorLog: quiet}
	go func() {
		defer close(r.served)
		_ = r.server.Serve(listener) // always http.ErrServerClosed: Stop ends it
	}()
	r.stop = context.AfterFunc(ctx, func() { _ = r.server.Close() })
	return r
}

// Address is the registry's host and port, the first part of its references.
func (r *Registry) Address() string { return r.listener.Addr().String() }

// Reference returns the reference of a tag of a repository.
func (r *Registry) Reference(repository, tag string) string {
	return r.Address() + "/" + repository + ":" + tag
}

// Stop ends the registry, and what it is sending, at once.
func (r *Registry) Stop() error {
	r.stop()
	err := r.server.Close()
	<-r.served
	return err
}

// SetAway makes the registry unreachable, or reachable again: while it is away
// it hangs up on everybody. Its contents stay.
func (r *Registry) SetAway(away bool) { r.away.Store(away) }

// Counts returns what clients have asked for, pushes aside.
func (r *Registry) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// count counts requests and hangs up while the registry is away.
func (r *Registry) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get(ownRequest) != "" {
			next.ServeHTTP(w, req)
			return
		}
		if r.away.Load() {
			hangUp(w)
			return
		}
		// Before the answer: whoever has it looks at the counts.
		r.add(req)
		if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") {
			w = &byteCounter{ResponseWriter: w, registry: r}
		}
		next.ServeHTTP(w, req)
	})
}

func (r *Registry) add(req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case req.Method == http.MethodHead:
		r.counts.Heads++
	case req.Method != http.MethodGet:
	case strings.Contains(req.URL.Path, "/manifests/"):
		r.counts.Manifests++
	case strings.Contains(req.URL.Path, "/blobs/"):
		r.counts.Blobs++
	}
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	conn.Close()
}

// byteCounter counts the bytes of a blob before they are sent.
type byteCounter struct {
	http.ResponseWriter
	registry *Registry
}

func (c *byteCounter) Write(p []byte) (int, error) {
	c.registry.mu.Lock()
	c.registry.counts.BlobBytes += int64(len(p))
	c.registry.mu.Unlock()
	return c.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (c *byteCounter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
