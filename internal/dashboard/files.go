package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/farrier-dev/farrier/internal/dashboard/assets"
	"github.com/farrier-dev/farrier/internal/dashboard/page"
)

// file is a script, a style or a picture.
type file struct {
	content, gzipped []byte
	kind, etag       string
}

// files are all of them, by name. They are public: the sign-in page needs them.
type files struct{ byName map[string]*file }

func newFiles() *files {
	f := &files{byName: map[string]*file{}}
	for _, from := range []fs.FS{assets.Files(), page.Assets} {
		entries, _ := fs.ReadDir(from, ".") // it is in this program
		for _, entry := range entries {
			if content, err := fs.ReadFile(from, entry.Name()); err == nil {
				f.byName[entry.Name()] = newFile(entry.Name(), content)
			}
		}
	}
	return f
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content) // memory takes everything
	_ = w.Close()
	return &file{content: content, gzipped: b.Bytes(), kind: mime.TypeByExtension(path.Ext(name)), etag: hex.EncodeToString(sum[:8])}
}

// url is where a file of this version is: browsers need not ask for it again.
func (f *files) url(name string) string {
	url := root + "assets/" + name
	if found := f.byName[name]; found != nil {
		url += "?v=" + found.etag
	}
	return url
}

func (f *files) serve(w http.ResponseWriter, r *http.Request) {
	found := f.byName[r.PathValue("name")]
	if found == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == found.etag {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Vary", "Accept-Encoding")
	content, etag := found.content, found.etag
	if takesGzip(r) {
		content, etag = found.gzipped, found.etag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+etag+`"`)
	if r.Header.Get("If-None-Match") == h.Get("ETag") {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", found.kind)
	_, _ = w.Write(content) // nobody listens any more
}

func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if name == "gzip" && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}

// compressed is where an answer is written to, in the coding that the browser takes. It comes before the status; done ends it.
func compressed(w http.ResponseWriter, r *http.Request) (out io.Writer, done func()) {
	w.Header().Set("Vary", "Accept-Encoding")
	if !takesGzip(r) {
		return w, func() {}
	}
	w.Header().Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // a level that exists
	return z, func() { _ = z.Close() }             // nobody listens any more
}
