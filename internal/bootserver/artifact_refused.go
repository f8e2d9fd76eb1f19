package bootserver

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/inbound/progress"
)

// statusClientGone stands in the record for a request whose client did not wait for the answer. Nobody receives it.
const statusClientGone = 499

// blobFailures says how the failures of blobs are answered. The text tells a machine's console what kind of failure it was; details
// are for the log, since anybody can ask.
var blobFailures = []struct {
	err    error
	status int
}{
	{registry.ErrInvalidReference, http.StatusBadRequest},
	{registry.ErrInvalidDigest, http.StatusBadRequest},
	{registry.ErrNotAllowed, http.StatusForbidden},
	{registry.ErrUnsigned, http.StatusForbidden},
	{context.DeadlineExceeded, http.StatusGatewayTimeout},
	{registry.ErrUnreachable, http.StatusBadGateway},
	{registry.ErrDenied, http.StatusBadGateway},
	{registry.ErrCorrupt, http.StatusBadGateway},
	{registry.ErrInvalidManifest, http.StatusBadGateway},
	{registry.ErrNoArchitecture, http.StatusBadGateway},
	{blobcache.ErrTooLarge, http.StatusBadGateway},
	{blobcache.ErrCacheFull, http.StatusServiceUnavailable},
	{blobcache.ErrBusy, http.StatusServiceUnavailable},
	{blobcache.ErrTooMany, http.StatusTooManyRequests},
	{blobcache.ErrAbandoned, http.StatusServiceUnavailable},
	{blobcache.ErrClosed, http.StatusServiceUnavailable},
}

func blobFailure(err error) (status int, text string) {
	for _, failure := range blobFailures {
		if errors.Is(err, failure.err) {
			return failure.status, failure.err.Error() + "\n"
		}
	}
	if errors.Is(err, registry.ErrNotFound) {
		return http.StatusNotFound, textNotFound
	}
	return http.StatusInternalServerError, http.StatusText(http.StatusInternalServerError) + "\n"
}

// refuseBlob answers a request for a blob that cannot be had.
func (s *Server) refuseBlob(p *progress.Writer, r *http.Request, err error) {
	if r.Context().Err() != nil && !errors.Is(err, context.DeadlineExceeded) {
		p.Status = statusClientGone
		return
	}
	status, text := blobFailure(err)
	s.logBlobFailure(r, status, err)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		p.Header()["Retry-After"] = retryAfter[len(retryAfter)-1]
	}
	refuse(p, r, status, text)
}

// logBlobFailure logs a failure that somebody can do something about: of what is needed if it is no client's fault, and that requests
// for what nobody needs are refused.
func (s *Server) logBlobFailure(r *http.Request, status int, err error) {
	pairs := []any{"address", r.RemoteAddr, "path", logged(r.URL.Path), "query", logged(r.URL.RawQuery), "status", status, "error", err}
	if _, unneeded := errors.AsType[blobcache.UnneededError](err); unneeded {
		if status != http.StatusBadRequest && status != http.StatusForbidden && status != http.StatusInternalServerError {
			s.blobRefusals.Logger().Info("refused requests for images that no boot configuration names", pairs...)
		}
	} else if status >= http.StatusInternalServerError {
		s.blobFailures.Logger().Info("image request failed", pairs...)
	}
}

// The least times between two lines of the log about blobs that nobody needs, and about blobs that are needed.
const (
	blobRefusalsEvery = 30 * time.Second
	blobFailuresEvery = time.Second
)

// logged cuts what a client sent to what the log takes.
func logged(text string) string {
	const longest = 200
	if len(text) > longest {
		return text[:longest] + "…"
	}
	return text
}
