package bootserver

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootfile"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/inbound/progress"
)

// serveImage answers /image, a layer of an OCI image.
func (s *Server) serveImage(w http.ResponseWriter, r *http.Request, _ string) {
	s.serveBlob(w, r, Artifact, typeBinary)
}

// fileRoute answers what firmware of a boot method fetches itself, such as /httpboot/{image…}/sha256-{hex}.efi.
func fileRoute(f *bootfile.File) route {
	contentType := []string{f.ContentType}
	return route{open: true, serve: func(s *Server, w http.ResponseWriter, r *http.Request, rest string) {
		if byBMC, ok := strings.CutPrefix(rest, bootfile.TokenMark); ok { // the URL was given to the machine's BMC alone
			if r = s.byBMC(w, r, f, byBMC); r == nil {
				return
			}
		}
		s.serveBlob(w, r, f.Delivered, contentType)
	}}
}

// byBMC binds the session of a machine to the caller that has the URL which its BMC was given, and returns the request for the file itself. Where
// it is nobody's URL, or another's, it answers, and returns nil.
func (s *Server) byBMC(w http.ResponseWriter, r *http.Request, f *bootfile.File, rest string) *http.Request {
	token, path, _ := strings.Cut(rest, "/")
	m, ok := s.view.ByBMCToken(token)
	if !ok || m.Session() == nil {
		notFound(w, r)
		return nil
	}
	q := s.request(r, m, bmcToken, true)
	if is, why := s.admit(q); is != admitted {
		s.alarm(q, f.Delivered, why)
		refuse(w, r, http.StatusForbidden, textForbidden)
		return nil
	}
	plain := r.Clone(r.Context())
	plain.URL.Path, plain.URL.RawPath = f.Folder+path, ""
	return plain
}

func (s *Server) serveBlob(w http.ResponseWriter, r *http.Request, kind DeliveryKind, contentType []string) {
	if s.cfg.Blobs == nil {
		notFound(w, r)
		return
	}
	p := progress.New(w)
	s.sendBlob(p, r, contentType)
	if kind.IsFile() && r.Method == http.MethodGet && p.Status < http.StatusMultipleChoices {
		s.callers.fetchesFile(callerText(r), r.URL.Path, s.cfg.Clock.Now())
	}
	name := func(m *bootview.Machine) string { return artifactName(r, m) }
	if kind.IsFile() {
		name = nil // there is one in a boot
	}
	s.deliveredToAddress(r, kind, p.Status, p.Total, name)
}

// sendBlob sends a blob, for HEAD only its headers.
func (s *Server) sendBlob(p *progress.Writer, r *http.Request, contentType []string) {
	var blob *blobcache.Blob
	var err error
	if r.Method == http.MethodHead {
		blob, err = s.cfg.Blobs.Stat(r.Context(), r.URL)
	} else {
		blob, err = s.cfg.Blobs.Open(r.Context(), r.URL, r.Header.Get("Range") != "")
	}
	if err != nil {
		s.refuseBlob(p, r, err)
		return
	}
	defer blob.Close()
	var content io.ReadSeeker = io.NewSectionReader(nil, 0, blob.Size)
	if blob.ReadSeeker != nil {
		content = blob.ReadSeeker
	}
	h := p.Header()
	h["Content-Type"] = contentType
	h["Etag"] = []string{`"` + blob.Digest + `"`}
	h["X-Content-Type-Options"] = nosniff
	// When reading fails, ServeContent returns early, and net/http then closes the connection because Content-Length is not reached:
	// the client knows that what it has is not the blob.
	http.ServeContent(p, r, "", time.Time{}, content)
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
