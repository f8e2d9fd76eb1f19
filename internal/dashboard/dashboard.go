package dashboard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/dashboard/page"
)

const (
	root = operator.PathDashboard
	// pageTimeout bounds what is read for a page.
	pageTimeout = 20 * time.Second
	// maxPages is how many pages are made at a time.
	maxPages = 8
	// maxForm is more than a form with an ignition can be, and maxSmallForm more than one with a token.
	maxForm, maxSmallForm = 1 << 20, 64 << 10
	// checkEvery is how often the API is asked whether a token still counts.
	checkEvery = 30 * time.Second
)

// contentPolicy lets pages load and ask nothing but this server, and has no script or style in their text count.
var contentPolicy = policy("'self'")

func policy(styles string) string {
	return "default-src 'none'; script-src 'self'; style-src " + styles + "; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// Options are what a Dashboard needs.
type Options struct {
	// API is the manager's client, whose reads come from its cache, and Live reads past it.
	API  client.Client
	Live client.Reader
	// Config is how the Kubernetes API is reached with Farrier's own credentials. Those of the person take their place.
	Config *rest.Config
	// Operator knows callers, and what is asked at the operator address.
	Operator *operator.Server
	// Unknown lists the machines that asked for a boot and got nothing.
	Unknown func() []operator.UnknownMachine
	// Cached are the images of which layers are kept; nil: nobody knows.
	Cached func() []CachedImage
	// Contact tells whether Farrier is in touch with the Kubernetes API; nil: it always is.
	Contact Contact
	// Namespace is the manager's.
	Namespace string
	// Labels are those that a claim needs for Farrier to look at it.
	Labels map[string]string
	Clock  clock.WithTicker
	Logger logr.Logger
}

// CachedImage is an image of which the cache has layers.
type CachedImage = page.CachedImage

// Contact is how a process stands with the Kubernetes API.
type Contact interface {
	// Err says why what is known may be old; nil: it is not.
	Err() error
	// Changes is closed when Err may be another one.
	Changes() <-chan struct{}
}

// isAway reports whether what is known may be old.
func (d *Dashboard) isAway() bool { return d.Contact != nil && d.Contact.Err() != nil }

// Dashboard answers browsers.
type Dashboard struct {
	Options

	sessions *sessions
	hub      *hub
	files    *files
	acts     *acts
	pages    chan struct{}
	fleet    fleet
	mux      *http.ServeMux
	origins  *http.CrossOriginProtection
	// notBefore and anyway are those of live.go, shorter in tests.
	notBefore, anyway time.Duration
}

// New makes a Dashboard.
func New(o Options) *Dashboard {
	d := &Dashboard{
		Options: o, sessions: newSessions(o.Clock), hub: newHub(), files: newFiles(), pages: make(chan struct{}, maxPages),
		mux: http.NewServeMux(), origins: http.NewCrossOriginProtection(), notBefore: notBefore, anyway: anyway,
	}
	d.acts = newActs(d)
	d.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, root, http.StatusSeeOther) })
	d.mux.HandleFunc("GET "+root+"assets/{name}", d.files.serve)
	d.mux.HandleFunc("GET "+root+"signin", d.signInPage)
	d.mux.HandleFunc("POST "+root+"signin", d.signIn)
	d.mux.HandleFunc("GET "+root+"enter", d.enter)
	d.mux.HandleFunc("POST "+root+"link", d.link)
	d.mux.HandleFunc("POST "+root+"signout", d.signedIn(d.signOut))
	d.mux.HandleFunc("GET "+root+"live", d.live)
	d.mux.HandleFunc("GET "+root+"console/{server}", d.signedIn(d.console))
	d.mux.HandleFunc("GET "+root, d.signedIn(d.show))
	d.mux.HandleFunc("POST "+root, d.signedIn(d.act))
	return d
}

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if err := d.origins.Check(r); err != nil {
		d.fail(w, r, nil, http.StatusForbidden, "This request came from another page than those of Farrier, and was not carried out.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	d.mux.ServeHTTP(w, r)
}

// signedIn has next answer those who have signed in, and asks the others to.
func (d *Dashboard) signedIn(next func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		s, why := d.session(w, r)
		if s == nil {
			d.askToSignIn(w, r, why)
			return
		}
		if r.Method == http.MethodPost && !d.isOwnForm(w, r, s) {
			return
		}
		next(w, r, s)
	}
}

// isOwnForm reports whether a form comes from a page of the session, and answers it if it does not.
func (d *Dashboard) isOwnForm(w http.ResponseWriter, r *http.Request, s *session) bool {
	if err := r.ParseForm(); err != nil {
		d.fail(w, r, s, http.StatusBadRequest, "The form cannot be read: "+err.Error())
		return false
	}
	if !s.hasSent(r.PostForm.Get("csrf")) {
		d.fail(w, r, s, http.StatusForbidden, "The form is of an earlier sign-in, and was not carried out. Load its page again.")
		return false
	}
	return true
}

// show answers a page.
func (d *Dashboard) show(w http.ResponseWriter, r *http.Request, s *session) {
	select {
	case d.pages <- struct{}{}:
		defer func() { <-d.pages }()
	case <-r.Context().Done():
		d.fail(w, r, s, http.StatusServiceUnavailable, "Many pages are being made. Try again soon.")
		return
	}
	v, err := d.view(r.Context(), s, r.URL)
	if err != nil {
		v = d.failure(err)
	}
	d.write(w, r, s, v)
}

// view makes the view of a page.
func (d *Dashboard) view(ctx context.Context, s *session, at *url.URL) (page.View, error) {
	from := d.source(s)
	parts := strings.Split(strings.Trim(strings.TrimPrefix(at.Path, root), "/"), "/")
	if len(parts) == 1 {
		switch parts[0] {
		case "":
			return page.Overview(ctx, from)
		case "servers":
			return page.Servers(ctx, from, at.Query())
		case "claims":
			return page.Claims(ctx, from, at.Query())
		case "images":
			return page.Images(ctx, from)
		case "rollouts":
			return page.Rollouts(ctx, from)
		case "bmcs":
			return page.BMCs(ctx, from, at.Query())
		case "unknown":
			return page.Unknown(ctx, from)
		}
	}
	switch {
	case len(parts) == 2 && parts[0] == "servers":
		return page.Server(ctx, from, parts[1])
	case len(parts) == 2 && parts[0] == "bmcs":
		return page.BMC(ctx, from, parts[1])
	case len(parts) == 3 && parts[0] == "claims":
		return page.Claim(ctx, from, parts[1], parts[2])
	}
	return page.View{}, page.ErrNotFound
}

// source is what pages read, with the rights of a session.
func (d *Dashboard) source(s *session) page.Source {
	return page.Source{
		Objects: &reader{d, s}, Fleet: d.fleetFor(s), Manager: d.Namespace, Now: d.Clock.Now(),
		Boots: func(ctx context.Context, uuid string) (operator.Boots, error) {
			if err := d.mayRead(ctx, s, operator.PathBoots+uuid); err != nil {
				return operator.Boots{}, err
			}
			return d.Operator.BootsOf(uuid), nil
		},
		Logbook: d.logbook(s), Cached: d.cached(s),
		Unknown: func(ctx context.Context) ([]operator.UnknownMachine, error) {
			if err := d.mayRead(ctx, s, operator.PathUnknown); err != nil {
				return nil, err
			}
			return d.Options.Unknown(), nil
		},
	}
}

// failure is the page for an error.
func (d *Dashboard) failure(err error) page.View {
	status, why := explain(err)
	if status == http.StatusInternalServerError {
		d.Logger.Error(err, "page not made")
	}
	return page.Failure(status, why)
}

// explain says what an error means for whoever looks.
func explain(err error) (status int, why string) {
	var reported apierrors.APIStatus
	switch {
	case errors.Is(err, page.ErrNotFound), apierrors.IsNotFound(err):
		return http.StatusNotFound, err.Error()
	case apierrors.IsForbidden(err):
		return http.StatusForbidden, err.Error()
	case isSilence(err):
		return http.StatusServiceUnavailable, "The Kubernetes API does not answer, and without it nobody knows what you may see."
	case errors.As(err, &reported) && reported.Status().Code >= http.StatusBadRequest && reported.Status().Code < http.StatusInternalServerError:
		return int(reported.Status().Code), err.Error()
	}
	return http.StatusInternalServerError, "Farrier could not make this page: " + err.Error()
}

// isSilence reports whether an error means that the Kubernetes API does not answer.
func isSilence(err error) bool {
	var s *silent
	var network net.Error
	return errors.As(err, &s) || errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}

func (d *Dashboard) fail(w http.ResponseWriter, r *http.Request, s *session, status int, why string) {
	d.write(w, r, s, page.Failure(status, why))
}

// shell is what stands around the pages of a session.
func (d *Dashboard) shell(s *session, path string) page.Shell {
	shell := page.Shell{Path: path, Asset: d.files.url}
	if s != nil {
		shell.Person, shell.CSRF, shell.Live = s.user.Username, s.formToken(), root+"live"
	}
	return shell
}

// write sends a page.
func (d *Dashboard) write(w http.ResponseWriter, r *http.Request, s *session, v page.View) {
	shell := d.shell(s, r.URL.RequestURI())
	shell.Offline = d.isAway()
	if s != nil {
		n := s.told()
		shell.Notice, shell.Bad = n.text, n.bad
	}
	if v.Terminal {
		shell.StyleNonce = withTerminal(w)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	out, done := compressed(w, r)
	w.WriteHeader(v.Status)
	if err := page.Write(out, shell, v); err != nil {
		d.Logger.V(1).Info("page not sent", "path", r.URL.Path, "error", err)
	}
	done()
}
