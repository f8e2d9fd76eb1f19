package origin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
)

// Role is the role of the child process that is the registry. A benchmark's main calls Serve for it.
const Role = "origin"

// Repository is where the blob is.
const Repository = "bench/os"

// Config says what the registry has.
type Config struct {
	Size           int64
	BytesPerSecond int64 // over all connections; 0: as fast as it can
	Folder         string
}

// Origin is a running registry.
type Origin struct {
	process *child.Process
	Address string
	Digest  string
	File    string // that holds the blob
}

type answer struct {
	Address, Digest, File string
	Sent                  int64
}

// Start makes the blob and serves it.
func Start(ctx context.Context, c Config) (*Origin, error) {
	p, err := child.Start(ctx, Role)
	if err != nil {
		return nil, err
	}
	var a answer
	err = p.Ask(c, &a)
	return &Origin{process: p, Address: a.Address, Digest: a.Digest, File: a.File}, err
}

// BlobPath is the blob's path at the registry itself.
func (o *Origin) BlobPath() string { return "/v2/" + Repository + "/blobs/" + o.Digest }

// ImagePath is the blob's path at a boot server.
func (o *Origin) ImagePath() string {
	return "/image?imageName=" + o.Address + "/" + Repository + "&layerDigest=" + o.Digest + "&version=v1"
}

// Sent is how many bytes of the blob it has sent since it started.
func (o *Origin) Sent() (int64, error) {
	var a answer
	err := o.process.Ask(Config{}, &a)
	return a.Sent, err
}

// Stop ends the registry.
func (o *Origin) Stop() error { return o.process.Stop() }

// Serve is the registry's side.
func Serve(ctx context.Context) error {
	var started *answer
	var sent atomic.Int64
	return child.Serve(func(c Config) (answer, error) {
		if started == nil {
			a, err := start(ctx, c, &sent)
			started = &a
			return a, err
		}
		a := *started
		a.Sent = sent.Load()
		return a, nil
	})
}

func start(ctx context.Context, c Config, sent *atomic.Int64) (answer, error) {
	a := answer{File: filepath.Join(c.Folder, "blob")}
	var err error
	if a.Digest, err = writeBlob(a.File, c.Size); err != nil {
		return a, fmt.Errorf("blob: %w", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return a, fmt.Errorf("listen: %w", err)
	}
	a.Address = l.Addr().String()
	limit := &limiter{perSecond: c.BytesPerSecond}
	path := (&Origin{Digest: a.Digest}).BlobPath()
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		file, err := os.Open(a.File)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer file.Close()
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(&limitedWriter{w, limit, sent}, r, "", time.Time{}, file)
	})}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "origin:", err)
			os.Exit(1)
		}
	}()
	return a, nil
}

// writeBlob writes bytes that do not compress, the same each time.
func writeBlob(path string, size int64) (digest string, err error) {
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(file, sum), rand.NewChaCha8([32]byte{1}), size); err != nil {
		return "", errors.Join(err, file.Close())
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), file.Close()
}

// limiter gives out the time at which bytes may go.
type limiter struct {
	perSecond int64
	mu        sync.Mutex
	next      time.Time
}

func (l *limiter) wait(n int) {
	if l.perSecond <= 0 {
		return
	}
	// A sleep takes longer than it should, and what was missed is made up for within this time.
	const burst = 20 * time.Millisecond
	l.mu.Lock()
	now := time.Now()
	if l.next.Before(now.Add(-burst)) {
		l.next = now.Add(-burst)
	}
	l.next = l.next.Add(time.Duration(float64(n) / float64(l.perSecond) * float64(time.Second)))
	wait := l.next.Sub(now)
	l.mu.Unlock()
	time.Sleep(wait)
}

// limitedWriter has no ReadFrom on purpose: what is sent by the kernel cannot be slowed down.
type limitedWriter struct {
	http.ResponseWriter
	limit *limiter
	sent  *atomic.Int64
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	w.limit.wait(len(p))
	n, err := w.ResponseWriter.Write(p)
	w.sent.Add(int64(n))
	return n, err
}
