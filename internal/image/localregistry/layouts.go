package localregistry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/image/layout"
)

// StartLayouts runs a registry from which the images of a folder can be pulled, at an address and until the context ends or Stop is called.
func StartLayouts(ctx context.Context, address string, folder layout.Folder) (*Registry, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return serve(ctx, listener, layouts{folder}), nil
}

// layouts answers as distribution-spec v1.1 §"Pull" says, and nothing else of it.
type layouts struct{ folder layout.Folder }

func (l layouts) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "images of this registry can be pulled alone", http.StatusMethodNotAllowed)
		return
	}
	asked, ok := strings.CutPrefix(req.URL.Path, "/v2/")
	switch name, version, found := strings.Cut(asked, "/manifests/"); {
	case ok && asked == "":
		w.WriteHeader(http.StatusOK)
		return
	case ok && found:
		l.manifest(w, req, name, version)
		return
	}
	if name, digest, found := strings.Cut(asked, "/blobs/"); ok && found {
		l.blob(w, req, name, digest)
		return
	}
	http.NotFound(w, req)
}

func (l layouts) manifest(w http.ResponseWriter, req *http.Request, name, version string) {
	mediaType, body, err := l.folder.Manifest(name, version)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	http.ServeContent(w, req, "", time.Time{}, strings.NewReader(string(body)))
}

func (l layouts) blob(w http.ResponseWriter, req *http.Request, name, digest string) {
	file, _, err := l.folder.Blob(name, digest)
	if err != nil {
		refuse(w, err)
		return
	}
	defer func() { _ = file.Close() }()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, req, "", time.Time{}, file)
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, layout.ErrNotFound) {
		status = http.StatusNotFound
	}
	http.Error(w, err.Error(), status)
}
