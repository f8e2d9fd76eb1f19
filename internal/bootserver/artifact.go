package bootserver

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// serveImage answers /image, a layer of an OCI image.
func (s *Server) serveImage(w http.ResponseWriter, r *http.Request, _ string) {
	s.serveBlob(w, r, Artifact, Blobs.ServeImage)
}

// serveUKI answers /httpboot/{image…}/sha256-{hex}.efi.
func (s *Server) serveUKI(w http.ResponseWriter, r *http.Request, _ string) {
	if rest, ok := strings.CutPrefix(r.URL.Path, bmcPath); ok {
		if r = s.byBMC(w, r, rest); r == nil {
			return
		}
	}
	s.serveBlob(w, r, UKI, Blobs.ServeUKI)
}

// bmcPath begins the path of a UKI whose URL was given to a machine's BMC alone; a token follows it.
const bmcPath = "/httpboot/~"

// byBMC binds the session of a machine to the caller that has the URL which its BMC was given, and returns the request for the UKI itself. Where
// it is nobody's URL, or another's, it answers, and returns nil.
func (s *Server) byBMC(w http.ResponseWriter, r *http.Request, rest string) *http.Request {
	token, path, _ := strings.Cut(rest, "/")
	m, ok := s.view.ByBMCToken(token)
	if !ok || m.Session == nil {
		notFound(w, r)
		return nil
	}
	q := s.request(r, m, bmcToken, true)
	if is, why := s.admit(q); is != admitted {
		s.alarm(q, UKI, why)
		refuse(w, r, http.StatusForbidden, textForbidden)
		return nil
	}
	plain := r.Clone(r.Context())
	plain.URL.Path, plain.URL.RawPath = "/httpboot/"+path, ""
	return plain
}

func (s *Server) serveBlob(w http.ResponseWriter, r *http.Request, kind DeliveryKind, serve func(Blobs, http.ResponseWriter, *http.Request)) {
	if s.cfg.Blobs == nil {
		notFound(w, r)
		return
	}
	p := &progressWriter{ResponseWriter: w, status: http.StatusOK}
	p.extend()
	serve(s.cfg.Blobs, p, r)
	if kind == UKI && r.Method == http.MethodGet && p.status < http.StatusMultipleChoices {
		s.callers.fetchesUKI(callerText(r), r.URL.Path, s.cfg.Clock.Now())
	}
	name := func(m *bootview.Machine) string { return artifactName(r, m) }
	if kind == UKI {
		name = nil // there is one in a boot
	}
	s.deliveredToAddress(r, kind, p.status, p.total, name)
}

// artifactName is what the machine's script calls the layer that is asked for; of a layer of which it says nothing the last word of its
// media type, or the first digits of its digest. Anybody can ask for anything: nothing else of the query gets into a record.
func artifactName(r *http.Request, m *bootview.Machine) string {
	const shown = 12
	digest, layer := query(r, "layerDigest"), query(r, "layerName")
	if _, hex, _ := strings.Cut(digest, ":"); len(hex) >= shown {
		if name := m.ArtifactName(hex); name != "" {
			return name
		}
		if strings.Trim(hex, "0123456789abcdef") == "" {
			return strings.Clone(hex[:shown]) // without the rest of the URL
		}
		return ""
	}
	word := layer[strings.LastIndexAny(layer, "./")+1:]
	if len(word) > shown || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return strings.Clone(word)
}

const (
	// chunk is what a client has chunkTimeout to take: 70 kB/s, slower than any
	// management network and fast enough to be rid of one that stopped reading.
	chunk        = 4 << 20
	chunkTimeout = time.Minute
)

// progressWriter moves the write deadline of a connection as bytes go out: a
// download may take as long as it needs but not stand still.
type progressWriter struct {
	http.ResponseWriter
	status int
	sent   int64 // since the deadline was moved
	total  int64 // of the body
}

// Unwrap is for http.ResponseController.
func (p *progressWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *progressWriter) extend() {
	p.sent = 0
	// It fails where there is no connection, in tests of handlers.
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(chunkTimeout))
}

func (p *progressWriter) WriteHeader(status int) {
	if status >= http.StatusOK { // not an informational one, RFC 9110 §15.2
		p.status = status
		p.extend() // a blob that is verified first may have taken longer than a chunk may
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p *progressWriter) Write(b []byte) (int, error) {
	if p.sent += int64(len(b)); p.sent > chunk {
		p.extend()
	}
	n, err := p.ResponseWriter.Write(b)
	p.total += int64(n)
	return n, err
}

// ReadFrom keeps the way open for sendfile(2): net/http hands an *os.File behind
// one io.LimitedReader to the kernel, so a limited reader is cut into smaller ones
// rather than wrapped in another.
func (p *progressWriter) ReadFrom(src io.Reader) (int64, error) {
	limited, ok := src.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: src, N: 1<<63 - 1}
	}
	var total int64
	for limited.N > 0 {
		p.extend()
		part := &io.LimitedReader{R: limited.R, N: min(chunk, limited.N)}
		want := part.N
		n, err := io.Copy(p.ResponseWriter, part)
		total += n
		p.total += n
		limited.N -= n
		if err != nil || n < want {
			return total, err
		}
	}
	return total, nil
}
