package bmcevents

import (
	"errors"
	"io"
	"net/http"
)

const (
	// maxBody is more than any BMC sends in one message.
	maxBody = 1 << 20
	// maxOfOne is how many messages of one BMC are read at the same time.
	maxOfOne = 4
	// retryAfter is when a BMC may try again that found no room, in seconds.
	retryAfter = "5"
)

// result is what became of a request, as it is counted.
type result string

const (
	accepted  result = "accepted"
	repeated  result = "repeated"
	malformed result = "malformed"
	tooLarge  result = "too_large"
	broken    result = "broken" // the body did not come, or not in time
	busy      result = "busy"
	strange   result = "unknown_path"
	notPosted result = "not_post"
)

var results = []result{accepted, repeated, malformed, tooLarge, broken, busy, strange, notPosted}

// status is the answer. A receiver acknowledges with any 2xx (DSP0266, "Eventing"), and has nothing to
// say beyond that. A repetition is acknowledged too, or it would never end.
func (r result) status() int {
	switch r {
	case accepted, repeated:
		return http.StatusNoContent
	case malformed:
		return http.StatusBadRequest
	case tooLarge:
		return http.StatusRequestEntityTooLarge
	case broken:
		return http.StatusRequestTimeout
	case busy:
		return http.StatusServiceUnavailable
	case notPosted:
		return http.StatusMethodNotAllowed
	}
	return http.StatusNotFound
}

// ServeHTTP implements http.Handler. Paths are secrets: none is logged.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	result := r.serve(w, req)
	r.results.WithLabelValues(string(result)).Inc()
	switch result {
	case busy:
		w.Header().Set("Retry-After", retryAfter)
	case notPosted:
		w.Header().Set("Allow", http.MethodPost)
	}
	w.WriteHeader(result.status())
}

// serve answers every forged path alike: the method is looked at before the path, and the token before
// anything that depends on which BMCs there are.
func (r *Receiver) serve(w http.ResponseWriter, req *http.Request) result {
	if req.Method != http.MethodPost {
		return notPosted
	}
	uid, _, ok := r.options.Paths.Parse(req.URL.Path)
	if !ok {
		return strange
	}
	s := r.sender(uid)
	if s == nil {
		return strange
	}
	if req.ContentLength > maxBody {
		return tooLarge
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		return busy
	}
	if !s.begin() {
		return busy
	}
	defer s.end()
	return r.read(w, req, s)
}

func (r *Receiver) read(w http.ResponseWriter, req *http.Request, s *sender) result {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return tooLarge
	}
	if err != nil {
		return broken
	}
	m, err := Decode(body)
	if err != nil {
		r.options.Logger.V(1).Info("BMC event not decoded", "bmc", s.owner.name, "error", err)
		return malformed
	}
	if !r.take(s, m) {
		return repeated
	}
	return accepted
}
