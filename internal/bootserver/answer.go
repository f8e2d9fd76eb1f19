package bootserver

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// Header values that never change are shared by all answers; nobody writes to them.
var (
	typeText   = []string{"text/plain; charset=utf-8"}
	typeScript = []string{"text/plain"}
	typeJSON   = []string{"application/json"}
	// noStore keeps a proxy on the way from handing one machine's secrets, or
	// its script of yesterday, to another.
	noStore = []string{"no-store"}
	nosniff = []string{"nosniff"}

	// headerRevision names the revision of the view that an answer was made of.
	headerRevision = "Farrier-View-Revision"

	// retryAfter spreads machines that were powered on together.
	retryAfter = [...][]string{{"2"}, {"3"}, {"4"}, {"5"}}
)

// Texts of the contract.
const (
	textNotFound     = "Resource Not Found\n"
	textNotAllowed   = "Method Not Allowed\n"
	textUnsynced     = "Not synchronised yet\n"
	textConflict     = "Conflict: more than one boot configuration claims this machine\n"
	textEarly        = "The BMC of this machine has not shown it on yet\n"
	textIPXEDisabled = "iPXE is disabled\n"
	textTooMany      = "Too Many Requests\n"
	textNoDefaultUKI = "HTTP boot is not configured (missing default UKI)\n"
)

// send writes one whole answer; for HEAD, all but its body.
func send(w http.ResponseWriter, r *http.Request, status int, contentType []string, body []byte) {
	sendOf(w, r, status, contentType, []string{strconv.Itoa(len(body))}, body)
}

// sendOf is send for a body whose length was written before.
func sendOf(w http.ResponseWriter, r *http.Request, status int, contentType, length []string, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	h["Content-Length"] = length
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// An error means that the machine went away; there is nobody to tell.
		_, _ = w.Write(body)
	}
}

// refuse answers with an error text.
func refuse(w http.ResponseWriter, r *http.Request, status int, text string) {
	w.Header()["X-Content-Type-Options"] = nosniff
	send(w, r, status, typeText, []byte(text))
}

// unavailable asks the machine to come back.
func unavailable(w http.ResponseWriter, r *http.Request, text string) {
	w.Header()["Retry-After"] = retryAfter[rand.IntN(len(retryAfter))]
	refuse(w, r, http.StatusServiceUnavailable, text)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	refuse(w, r, http.StatusNotFound, textNotFound)
}

func notAllowed(w http.ResponseWriter, r *http.Request, allow []string) {
	w.Header()["Allow"] = allow
	refuse(w, r, http.StatusMethodNotAllowed, textNotAllowed)
}

// refuseLookup answers what bootview could not find.
func (s *Server) refuseLookup(w http.ResponseWriter, r *http.Request, m *bootview.Machine, status bootview.Status) {
	switch status {
	case bootview.Unsynced:
		unavailable(w, r, textUnsynced)
	case bootview.Conflict:
		s.cfg.Logger.V(1).Info("boot configurations conflict", "path", r.URL.Path, "bootConfigurations", m.Conflict())
		refuse(w, r, http.StatusConflict, textConflict)
	default:
		notFound(w, r)
	}
}

// buffers are where answers are put together.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// maxPooled keeps one machine's huge script from staying for ever.
const maxPooled = 64 << 10

func release(buf *[]byte, used []byte) {
	if cap(used) <= maxPooled {
		*buf = used[:0]
		buffers.Put(buf)
	}
}
