package firmwareimage

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/inbound/progress"
)

// folder begins the path of every image.
const folder = "/firmware/"

// pathPurpose separates these tokens from the others that are made of the installation's key.
const pathPurpose = "farrier firmware image v1"

// paths make what is secret of the path of an image: images may be licensed, and a BMC cannot log in.
type paths struct{ key []byte }

func newPaths(key []byte) paths { return paths{key: key} }

// token is an HMAC-SHA256 (RFC 2104) in unpadded base64url (RFC 4648 §5), which needs no escaping in a path. It is the same after a restart: a
// BMC may be fetching then, and its task is known by its image.
func (p paths) token(source Source) string {
	mac := hmac.New(sha256.New, p.key)
	for _, part := range []string{pathPurpose, source.URI, source.Digest} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Serves reports whether BMCs can fetch images from Farrier.
func (s *Store) Serves() bool { return s.options.BaseURL != "" }

// URL is where a BMC fetches the image of a source, while somebody needs it; empty: nowhere.
func (s *Store) URL(source Source) string {
	if !s.Serves() {
		return ""
	}
	return strings.TrimRight(s.options.BaseURL, "/") + folder + s.paths.token(source) + "/" + nameOf(source.URI)
}

// ServeHTTP answers BMCs that fetch an image (RFC 9110, with ranges). An image that is not there yet, since this process has just begun, they may
// ask for again.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	source, found := s.named(r.URL.Path)
	if !found {
		http.NotFound(w, r)
		return
	}
	f, err := os.Open(s.file(source))
	if err != nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "Service Unavailable: the image is being fetched", http.StatusServiceUnavailable)
		return
	}
	defer func() { _ = f.Close() }()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(progress.New(w), r, "", time.Time{}, io.ReadSeeker(f))
}

// Has reports whether a path is that of an image that somebody needs.
func (s *Store) Has(path string) bool {
	_, needed := s.named(path)
	return needed
}

// named is the source that a path names, if somebody needs it.
func (s *Store) named(path string) (Source, bool) {
	rest, ours := strings.CutPrefix(path, folder)
	token, _, ok := strings.Cut(rest, "/")
	if !ours || !ok {
		return Source{}, false
	}
	return s.find(token)
}

// find finds the source of a token among those that are needed; they are few.
func (s *Store) find(token string) (Source, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for source := range s.owners {
		if hmac.Equal([]byte(token), []byte(s.paths.token(source))) {
			return source, true
		}
	}
	return Source{}, false
}
