package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/dashboard/page"
)

const (
	// notBefore is the shortest time between two pictures of a page that somebody looks at.
	notBefore = time.Second
	// anyway is when a page is made again though no object has changed: requests of machines and the age of things are no objects.
	anyway = 15 * time.Second
	// writeTimeout is how long a browser may take for one picture.
	writeTimeout = 15 * time.Second
	// maxStreams is how many pages are live, and maxStreamsEach how many of a session.
	maxStreams, maxStreamsEach = 200, 10
)

// hub tells all who look that something has changed. One watcher of each kind feeds it.
type hub struct {
	// count is how many changes there were.
	count atomic.Uint64

	mu      sync.Mutex
	changed chan struct{}
	waited  bool
	streams int
	// ended is closed when the dashboard ends.
	ended chan struct{}
	// run names this run of the dashboard, so that a page finds out that it has outlived one.
	run string
}

func newHub() *hub {
	return &hub{changed: make(chan struct{}), ended: make(chan struct{}), run: hex.EncodeToString(random()[:8])}
}

// touch says that something has changed. It costs nothing while nobody looks.
func (h *hub) touch() {
	h.count.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waited {
		close(h.changed)
		h.changed, h.waited = make(chan struct{}), false
	}
}

// next is closed at the next change.
func (h *hub) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waited = true
	return h.changed
}

// enter counts a stream; false: there are too many.
func (h *hub) enter(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams >= maxStreams || s.streams >= maxStreamsEach {
		return false
	}
	h.streams++
	s.streams++
	return true
}

func (h *hub) leave(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
	s.streams--
}

// Run follows the objects that pages show until ctx ends, and then ends all streams and what goes on in the background.
func (d *Dashboard) Run(ctx context.Context, informers cache.Informers, kinds ...client.Object) error {
	defer d.acts.wait()
	defer close(d.hub.ended)
	tell := toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { d.hub.touch() }, UpdateFunc: func(any, any) { d.hub.touch() }, DeleteFunc: func(any) { d.hub.touch() },
	}
	for _, kind := range kinds {
		informer, err := informers.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(tell); err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
	}
	d.acts.follow(ctx)
	for d.Contact != nil {
		select {
		case <-d.Contact.Changes():
			d.hub.touch()
		case <-ctx.Done():
			return nil
		}
	}
	<-ctx.Done()
	return nil
}

// live streams the page at the path that "path" says, as it changes:
//
//	event: run      which run of Farrier this is
//	event: main     the content of the page, which is another one now
//	event: offline  why there is nothing newer
//	event: ended    the session has ended
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		d.Logger.V(1).Info("stream ends early", "error", err)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	stream := &stream{dashboard: d, w: w, control: control, request: r}
	s := d.sessions.of(r)
	if s == nil {
		stream.send("ended", whyEnded)
		return
	}
	at, err := url.Parse(ownPath(r.URL.Query().Get("path")))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !d.hub.enter(s) {
		stream.send("offline", "Too many pages are open: this one does not change by itself.")
		return
	}
	defer d.hub.leave(s)
	stream.session, stream.at = s, at
	if stream.send("run", d.hub.run) {
		stream.follow()
	}
}

// stream is a page that somebody looks at.
type stream struct {
	dashboard *Dashboard
	w         http.ResponseWriter
	control   *http.ResponseController
	request   *http.Request
	session   *session
	at        *url.URL
	// shown is the digest of the last picture.
	shown [sha256.Size]byte
}

// follow sends pictures until the page or the session is gone.
func (l *stream) follow() {
	d, done := l.dashboard, l.request.Context().Done()
	for {
		changed := d.hub.next()
		if !l.picture() {
			return
		}
		select {
		case <-d.Clock.After(d.notBefore):
		case <-done:
			return
		case <-d.hub.ended:
			l.lastWord()
			return
		}
		select {
		case <-changed:
		case <-d.Clock.After(d.anyway):
			if !l.write(": still here\n\n") {
				return
			}
		case <-done:
			return
		case <-d.hub.ended:
			l.lastWord()
			return
		}
	}
}

// why a page shows nothing newer.
const (
	whyAway = "Farrier is out of touch with the Kubernetes API."
	whyOver = "Farrier is out of touch with the Kubernetes API, and does nothing until it is back."
)

// lastWord says why there are no more pictures, as far as the page cannot find out: a Farrier that has lost the API listens no more.
func (l *stream) lastWord() {
	if l.dashboard.isAway() {
		l.send("offline", whyOver)
	}
}

// picture sends the page if it has changed, and reports whether somebody still looks.
func (l *stream) picture() bool {
	d := l.dashboard
	if !d.sessions.has(l.session) {
		l.send("ended", whyEnded)
		return false
	}
	if !d.stillKnown(l.request, l.session) {
		d.sessions.end(l.session)
		l.send("ended", whyExpired)
		return false
	}
	if d.isAway() {
		l.shown = [sha256.Size]byte{}
		return l.send("offline", whyAway)
	}
	ctx, cancel := context.WithTimeout(l.request.Context(), pageTimeout)
	defer cancel()
	select {
	case d.pages <- struct{}{}:
		defer func() { <-d.pages }()
	case <-ctx.Done():
		return l.request.Context().Err() == nil
	}
	// Pages leave out what cannot be read now; whether anything can is asked first.
	_, err := d.may(ctx, l.session, action{verb: "list", group: metalv1.GroupVersion.Group, resource: "servers"})
	var v page.View
	if err == nil {
		v, err = d.view(ctx, l.session, l.at)
	}
	if isSilence(err) {
		_, why := explain(err)
		l.shown = [sha256.Size]byte{}
		return l.send("offline", why)
	}
	if err != nil {
		v = d.failure(err)
	}
	return l.show(v)
}

// show sends the content of a page, unless it is the one that was sent last.
func (l *stream) show(v page.View) bool {
	shell := l.dashboard.shell(l.session, l.at.RequestURI())
	var sent bytes.Buffer
	if err := page.WriteMain(&sent, shell, v); err != nil {
		l.dashboard.Logger.Error(err, "page not made")
		return false
	}
	sum := sha256.Sum256(bytes.ReplaceAll(sent.Bytes(), []byte(shell.CSRF), nil)) // the token differs each time
	if sum == l.shown {
		return true
	}
	l.shown = sum
	return l.send("main", sent.String())
}

// send sends an event, and reports whether somebody got it.
func (l *stream) send(event, data string) bool {
	var b strings.Builder
	b.WriteString("event: " + event + "\n")
	for line := range strings.SplitSeq(data, "\n") {
		b.WriteString("data: " + strings.TrimSuffix(line, "\r") + "\n")
	}
	return l.write(b.String() + "\n")
}

func (l *stream) write(text string) bool {
	if err := l.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		l.dashboard.Logger.V(1).Info("stream without a deadline", "error", err)
	}
	if _, err := l.w.Write([]byte(text)); err != nil {
		return false
	}
	return l.control.Flush() == nil
}
