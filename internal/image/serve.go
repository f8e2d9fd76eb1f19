package image

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	typeBlob = "application/octet-stream"
	typeUKI  = "application/efi"
)

// ServeImage answers /image?imageName=&version=&layerDigest= and, for clients
// that name the layer, &layerName=. The digest wins if both are given.
func (b *Blobs) ServeImage(w http.ResponseWriter, r *http.Request) {
	if !allowMethod(w, r) {
		return
	}
	query := r.URL.Query()
	ref, digest, err := b.queried(r.Context(), query)
	if err != nil {
		b.fail(w, r, err, b.neededImage(ref))
		return
	}
	b.serve(w, r, ref, digest, typeBlob)
}

// queried finds out which blob a query means.
func (b *Blobs) queried(ctx context.Context, query url.Values) (Reference, string, error) {
	name, version := query.Get("imageName"), query.Get("version")
	digest, layerName := query.Get("layerDigest"), query.Get("layerName")
	if name == "" || (digest == "" && (layerName == "" || version == "")) {
		return Reference{}, "", ErrNotFound
	}
	if digest != "" && !digestText.MatchString(digest) {
		return Reference{}, "", errDigest
	}
	ref, err := versioned(name, version)
	if err != nil {
		return Reference{}, "", err
	}
	if err := b.upstream.check(ref); err != nil {
		return ref, "", err
	}
	if digest != "" {
		return ref, digest, nil
	}
	layer, err := b.layer(ctx, ref, layerName)
	return ref, layer.Digest, err
}

// versioned joins an image's name with a tag or a digest.
func versioned(name, version string) (Reference, error) {
	switch {
	case strings.Contains(version, ":"):
		if !digestText.MatchString(version) {
			return Reference{}, errDigest
		}
		name += "@" + version
	case version != "":
		name += ":" + version
	}
	return ParseReference(name)
}

// ServeUKI answers /httpboot/{host}/{repository}/sha256-{hex}.efi.
func (b *Blobs) ServeUKI(w http.ResponseWriter, r *http.Request) {
	if !allowMethod(w, r) {
		return
	}
	ref, digest, err := parseUKIPath(r.URL.Path)
	if err == nil {
		err = b.upstream.check(ref)
	}
	if err != nil {
		b.fail(w, r, err, false)
		return
	}
	b.serve(w, r, ref, digest, typeUKI)
}

// parseUKIPath reads what UKIURL writes.
func parseUKIPath(path string) (Reference, string, error) {
	image, ok := strings.CutPrefix(path, ukiPrefix)
	slash := strings.LastIndexByte(image, '/')
	if !ok || slash < 0 {
		return Reference{}, "", ErrNotFound
	}
	file, ok := strings.CutSuffix(image[slash+1:], ukiSuffix)
	if !ok {
		return Reference{}, "", ErrNotFound
	}
	digest := strings.Replace(file, "-", ":", 1)
	if !digestText.MatchString(digest) {
		return Reference{}, "", errDigest
	}
	ref, err := versioned(image[:slash], digest)
	return ref, digest, err
}

// serve sends a blob, or for HEAD only what it would send.
func (b *Blobs) serve(w http.ResponseWriter, r *http.Request, ref Reference, digest, contentType string) {
	var blob content
	if r.Method == http.MethodHead {
		size, err := b.size(r.Context(), ref, digest)
		if err != nil {
			b.fail(w, r, err, b.needed(blobKey{ref.Name(), digest}))
			return
		}
		blob = content{io.NewSectionReader(nil, 0, size), func() {}}
	} else {
		// A part of a blob is only sent of a verified one: the client has no
		// digest to check it with, and its last byte comes too early.
		var err error
		blob, err = b.open(r.Context(), ref, digest, r.Header.Get("Range") != "")
		if err != nil {
			b.fail(w, r, err, b.needed(blobKey{ref.Name(), digest}))
			return
		}
	}
	defer blob.close()
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("ETag", `"`+digest+`"`)
	header.Set("X-Content-Type-Options", "nosniff")
	// When reading fails, ServeContent returns early, and the server then
	// closes the connection because Content-Length is not reached: the client
	// knows that what it has is not the blob.
	http.ServeContent(newSteadyWriter(w), r, "", time.Time{}, blob.ReadSeeker)
}

func allowMethod(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	return false
}

// fail answers with the status and a text that tells a machine's console what
// kind of failure it was. Details are for the log: anybody can ask.
func (b *Blobs) fail(w http.ResponseWriter, r *http.Request, err error, needed bool) {
	if r.Context().Err() != nil && !errors.Is(err, context.DeadlineExceeded) {
		return // nobody is there to read it
	}
	status, text := failure(err)
	b.told(r, status, err, needed)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "5")
	}
	http.Error(w, text, status)
}

func failure(err error) (status int, text string) {
	for _, class := range []struct {
		err    error
		status int
	}{
		{ErrInvalidReference, http.StatusBadRequest},
		{errDigest, http.StatusBadRequest},
		{ErrNotAllowed, http.StatusForbidden},
		{context.DeadlineExceeded, http.StatusGatewayTimeout},
		{ErrUnreachable, http.StatusBadGateway},
		{ErrDenied, http.StatusBadGateway},
		{ErrCorrupt, http.StatusBadGateway},
		{ErrInvalidManifest, http.StatusBadGateway},
		{ErrNoArchitecture, http.StatusBadGateway},
		{ErrTooLarge, http.StatusBadGateway},
		{ErrCacheFull, http.StatusServiceUnavailable},
		{ErrBusy, http.StatusServiceUnavailable},
		{ErrTooMany, http.StatusTooManyRequests},
		{errAbandoned, http.StatusServiceUnavailable},
		{errClosed, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, class.err) {
			return class.status, class.err.Error()
		}
	}
	if errors.Is(err, ErrNotFound) {
		return http.StatusNotFound, "Resource Not Found"
	}
	return http.StatusInternalServerError, http.StatusText(http.StatusInternalServerError)
}

// steadyWriter gives a slow client time as long as it takes bytes: each chunk
// has its own time, where one for the whole answer would depend on its size. Only
// what the client takes counts, not what a registry does. It keeps the way open for
// the kernel to send files itself.
type steadyWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	sent    int64         // of the chunk
	left    time.Duration // for the rest of it
}

const (
	// steadyChunk is as much as Go gives to sendfile(2) at once.
	steadyChunk = 4 << 20
	steadyLimit = time.Minute
)

func newSteadyWriter(w http.ResponseWriter) *steadyWriter {
	return &steadyWriter{ResponseWriter: w, control: http.NewResponseController(w), left: steadyLimit}
}

// within lets send take what is left of the time of its chunk. A writer without deadlines, a test's, has any.
func (w *steadyWriter) within(send func() (int64, error)) (int64, error) {
	began := time.Now()
	_ = w.control.SetWriteDeadline(began.Add(w.left))
	n, err := send()
	w.left -= time.Since(began)
	if w.sent += n; w.sent >= steadyChunk {
		w.sent, w.left = 0, steadyLimit
	}
	return n, err
}

// Write also flushes: what comes from a download may be followed by nothing
// for a while, and a machine should see that it comes.
func (w *steadyWriter) Write(p []byte) (int, error) {
	n, err := w.within(func() (int64, error) {
		n, err := w.ResponseWriter.Write(p)
		_ = w.control.Flush() // a writer that cannot is a test's
		return int64(n), err
	})
	return int(n), err
}

// ReadFrom sends a file in chunks. The chunk is a single io.LimitedReader of the
// file, because sendfile(2) is used for nothing else. What is not a file goes
// through Write.
func (w *steadyWriter) ReadFrom(r io.Reader) (total int64, err error) {
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		return w.copy(r)
	}
	file, ok := limited.R.(*os.File)
	if !ok {
		return w.copy(r)
	}
	for limited.N > 0 {
		chunk := io.LimitedReader{R: file, N: min(steadyChunk, limited.N)}
		n, err := w.within(func() (int64, error) { return io.Copy(w.ResponseWriter, &chunk) })
		total += n
		limited.N -= n
		if err != nil || chunk.N > 0 {
			return total, err
		}
	}
	return total, nil
}

func (w *steadyWriter) copy(r io.Reader) (int64, error) {
	_ = w.control.Flush() // the status and the length, before the first bytes are there
	return io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, followBuffer))
}

// Unwrap is for http.ResponseController.
func (w *steadyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
