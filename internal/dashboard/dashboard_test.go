package dashboard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/operator"
)

// reviewing answers reviews as an API would: admin may all, reader may list and get Servers, nobody may nothing. Tokens are NAME-token.
type reviewing struct {
	client.Client

	mu      sync.Mutex
	gone    bool
	revoked map[string]bool
	asked   []authorizationv1.SubjectAccessReviewSpec
}

func (c *reviewing) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return errors.New("connection refused")
	}
	switch o := obj.(type) {
	case *authenticationv1.TokenReview:
		o.Status.Authenticated = strings.HasSuffix(o.Spec.Token, "-token") && !c.revoked[o.Spec.Token]
		o.Status.User.Username = strings.TrimSuffix(o.Spec.Token, "-token")
		return nil
	case *authorizationv1.SubjectAccessReview:
		c.asked = append(c.asked, o.Spec)
		a := o.Spec.ResourceAttributes
		o.Status.Allowed = o.Spec.User == "admin" || o.Spec.User == "reader" && a != nil && a.Resource == "servers" && slices.Contains([]string{"get", "list"}, a.Verb)
		return nil
	}
	return c.Client.Create(ctx, obj, opts...)
}

// RESTMapper knows the kinds that pages read.
func (c *reviewing) RESTMapper() apimeta.RESTMapper {
	kinds := apimeta.NewDefaultRESTMapper(nil)
	for kind := range c.Scheme().AllKnownTypes() {
		scope := apimeta.RESTScopeNamespace
		if slices.Contains([]string{"Server", "BMC", "BMCSecret", "Endpoint"}, kind.Kind) {
			scope = apimeta.RESTScopeRoot
		}
		kinds.Add(kind, scope)
	}
	return kinds
}

func (c *reviewing) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// site is a dashboard with a browser's cookies.
type site struct {
	*Dashboard
	t     *testing.T
	api   *reviewing
	clock *clocktesting.FakeClock
	jar   map[string]string
	tls   *tls.ConnectionState
}

func newSite(t *testing.T, objects ...client.Object) *site {
	t.Helper()
	objects = append(objects, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "node-7"}, Spec: metalv1.ServerSpec{SystemUUID: "4c4c4544-0043-3510-8052-b7c04f4e4d32"}})
	stored := controllertest.NewAPI(t, objects...)
	api := &reviewing{Client: stored, revoked: map[string]bool{}}
	now := clocktesting.NewFakeClock(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	server := &operator.Server{API: api, Live: stored, Namespace: "farrier-system", History: &bootview.History{}, Clock: now, Logger: logr.Discard()}
	d := New(Options{
		API: api, Live: stored, Config: &rest.Config{Host: "https://127.0.0.1:1"}, Operator: server, Namespace: "farrier-system", Clock: now, Logger: logr.Discard(),
		Unknown: func() []operator.UnknownMachine { return nil },
	})
	server.Dashboard = d
	return &site{Dashboard: d, t: t, api: api, clock: now, jar: map[string]string{}}
}

func (s *site) do(method, path string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, "https://farrier.example"+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.TLS = s.tls
	for name, value := range s.jar {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	s.Operator.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if s.jar[c.Name] = c.Value; c.MaxAge < 0 {
			delete(s.jar, c.Name)
		}
	}
	return w
}

func (s *site) signInAs(person string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.do("POST", root+"signin", url.Values{"token": {person + "-token"}, "next": {root + "servers"}})
}

// csrf is the token of the forms of the session.
func (s *site) csrf() string {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: cookieName, Value: s.jar[cookieName]})
	found := s.sessions.of(r)
	if found == nil {
		s.t.Fatal("no session")
	}
	return found.formToken()
}

func check(t *testing.T, what string, w *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), text) {
		t.Errorf("%s: %d, want %d and %q in:\n%s", what, w.Code, status, text, w.Body)
	}
}

func TestSignIn(t *testing.T) {
	s := newSite(t)
	check(t, "nobody", s.do("GET", root+"servers", nil), 401, "Sign in")
	check(t, "a wrong token", s.do("POST", root+"signin", url.Values{"token": {"guess"}}), 401, whyUnknown)
	w := s.signInAs("reader")
	if w.Code != 303 || w.Header().Get("Location") != root+"servers" {
		t.Fatalf("signed in: %d %v", w.Code, w.Header())
	}
	cookie := w.Result().Cookies()[0]
	if !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || cookie.Name != cookieName {
		t.Errorf("cookie: %v", cookie)
	}
	w = s.do("GET", root+"servers", nil)
	check(t, "servers", w, 200, "node-7")
	for name, want := range map[string]string{"Content-Security-Policy": contentPolicy, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	check(t, "sign-out without the form's token", s.do("POST", root+"signout", url.Values{}), 403, "earlier sign-in")
	old := s.jar[cookieName]
	if w := s.do("POST", root+"signout", url.Values{"csrf": {s.csrf()}}); w.Code != 303 {
		t.Errorf("sign-out: %d %s", w.Code, w.Body)
	}
	s.jar[cookieName] = old
	check(t, "the cookie after sign-out", s.do("GET", root+"servers", nil), 401, "You are signed out")
}

func TestWhoMaySeeWhat(t *testing.T) {
	s := newSite(t)
	s.signInAs("nobody")
	check(t, "nobody", s.do("GET", root+"servers", nil), 403, "cannot list resource &#34;servers&#34;")
	s.signInAs("reader")
	check(t, "reader", s.do("GET", root+"servers", nil), 200, "node-7")
	check(t, "reader of claims", s.do("GET", root+"claims", nil), 403, "cannot list resource &#34;serverclaims&#34;")
	check(t, "reader of unknown machines", s.do("GET", root+"unknown", nil), 403, "cannot get path &#34;/unknown&#34;")
	s.signInAs("admin")
	check(t, "admin", s.do("GET", root+"claims", nil), 200, "")
	check(t, "a server that is gone", s.do("GET", root+"servers/none", nil), 404, "none")
	check(t, "no page", s.do("GET", root+"else", nil), 404, "Not Found")
}

// TestRightsAreAskedForOncePerSeconds: pages do not cost the API a question each.
func TestRightsAreAskedForOncePerSeconds(t *testing.T) {
	s := newSite(t)
	s.signInAs("reader")
	count := func(want string) int {
		n := 0
		for _, a := range s.api.asked {
			if a.ResourceAttributes != nil && a.ResourceAttributes.Resource == want {
				n++
			}
		}
		return n
	}
	for range 3 {
		check(t, "servers", s.do("GET", root+"servers", nil), 200, "node-7")
	}
	first := count("servers")
	if first == 0 || first > 2 {
		t.Errorf("%d questions for three pages", first)
	}
	s.clock.Step(rightsFor)
	s.do("GET", root+"servers", nil)
	if again := count("servers"); again <= first {
		t.Errorf("no question after %s", rightsFor)
	}
}

func TestATokenThatExpires(t *testing.T) {
	s := newSite(t)
	s.signInAs("reader")
	s.api.set(func() { s.api.revoked["reader-token"] = true })
	s.clock.Step(checkEvery)
	check(t, "revoked", s.do("GET", root+"servers", nil), 401, whyExpired)
	s.api.set(func() { delete(s.api.revoked, "reader-token") })
	check(t, "the session afterwards", s.do("GET", root+"servers", nil), 401, "You are signed out")
}

func TestSessionsEnd(t *testing.T) {
	s := newSite(t)
	s.signInAs("reader")
	s.clock.Step(sessionIdle + time.Second)
	check(t, "idle", s.do("GET", root+"servers", nil), 401, "You are signed out")
	s.signInAs("reader")
	for range 13 {
		s.clock.Step(sessionIdle - time.Minute)
		s.do("GET", root+"servers", nil)
	}
	check(t, "old", s.do("GET", root+"servers", nil), 401, "You are signed out")
	s.jar = map[string]string{}
	for range maxSessionsEach + 5 {
		s.jar = map[string]string{}
		s.signInAs("reader")
	}
	if n := len(s.sessions.byID); n != maxSessionsEach {
		t.Errorf("%d sessions of one person", n)
	}
	check(t, "the newest", s.do("GET", root+"servers", nil), 200, "node-7")
}

func TestTheAPIIsGone(t *testing.T) {
	s := newSite(t)
	s.signInAs("reader")
	s.api.set(func() { s.api.gone = true })
	check(t, "gone", s.do("GET", root+"servers", nil), 503, "does not answer")
	check(t, "sign-in", s.do("POST", root+"signin", url.Values{"token": {"admin-token"}}), 503, whySilent)
	s.api.set(func() { s.api.gone = false })
	check(t, "back", s.do("GET", root+"servers", nil), 200, "node-7")
}

func TestLinks(t *testing.T) {
	s := newSite(t)
	asked := s.do("POST", root+"link", nil, func(r *http.Request) { r.Header.Set("Authorization", "Bearer reader-token") })
	check(t, "link", asked, 200, root+"enter?code=")
	_, path, _ := strings.Cut(asked.Body.String(), `"path":"`)
	path, _, _ = strings.Cut(path, `"`)
	check(t, "sent by another page", s.do("GET", path, nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }), 401, "another page")
	if w := s.do("GET", path, nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") }); w.Code != 303 {
		t.Fatalf("entered: %d %s", w.Code, w.Body)
	}
	check(t, "signed in", s.do("GET", root+"servers", nil), 200, "reader")
	s.jar = map[string]string{}
	check(t, "used twice", s.do("GET", path, nil), 401, "used before")
	check(t, "link of nobody", s.do("POST", root+"link", nil), 401, "Unauthorized")
	code, _, err := s.sessions.newLink(identity{})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Step(linkLife + time.Second)
	check(t, "old", s.do("GET", root+"enter?code="+code, nil), 401, "older than two minutes")
	for range maxLinks {
		if _, _, err := s.sessions.newLink(identity{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.sessions.newLink(identity{}); !errors.Is(err, errManyLinks) {
		t.Errorf("too many: %v", err)
	}
}

func TestClientCertificates(t *testing.T) {
	s := newSite(t)
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "reader", Organization: []string{"site-a"}}, NotBefore: s.clock.Now(), NotAfter: s.clock.Now().Add(30 * time.Minute)}
	s.tls = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf}}}
	check(t, "certificate", s.do("GET", root+"servers", nil), 200, "node-7")
	s.tls = nil
	check(t, "its session", s.do("GET", root+"servers", nil), 200, "node-7")
	if groups := s.api.asked[0].Groups; !slices.Contains(groups, "site-a") || !slices.Contains(groups, "system:authenticated") {
		t.Errorf("groups: %v", groups)
	}
	s.clock.Step(31 * time.Minute)
	check(t, "expired", s.do("GET", root+"servers", nil), 401, "Sign in")
}

// TestSignOutHolds: a client certificate signs nobody in who has signed out, until they ask for it.
func TestSignOutHolds(t *testing.T) {
	s := newSite(t)
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "reader"}, NotBefore: s.clock.Now(), NotAfter: s.clock.Now().Add(30 * time.Minute)}
	s.tls = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf}}}
	check(t, "certificate", s.do("GET", root+"servers", nil), 200, "node-7")
	check(t, "sign-out", s.do("POST", root+"signout", url.Values{"csrf": {s.csrf()}}), 303, "")
	for range 2 {
		check(t, "afterwards", s.do("GET", root+"servers", nil), 401, "Sign in as reader, by certificate")
	}
	check(t, "sign-in", s.do("POST", root+"signin", url.Values{"certificate": {"1"}, "next": {root + "servers"}}), 303, "")
	check(t, "signed in", s.do("GET", root+"servers", nil), 200, "node-7")
	s.tls, s.jar = nil, map[string]string{}
	check(t, "no certificate", s.do("POST", root+"signin", url.Values{"certificate": {"1"}}), 401, whyUnknown)
}

func TestOtherOrigins(t *testing.T) {
	s := newSite(t)
	s.signInAs("admin")
	form := url.Values{"csrf": {s.csrf()}}
	check(t, "another site", s.do("POST", root+"servers/node-7/cordon", form, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }), 403, "another page")
	check(t, "without the token", s.do("POST", root+"servers/node-7/cordon", url.Values{}), 403, "earlier sign-in")
	other := newSite(t)
	other.signInAs("admin")
	check(t, "a token of another session", s.do("POST", root+"servers/node-7/cordon", url.Values{"csrf": {other.csrf()}}), 403, "earlier sign-in")
}

func TestOwnPath(t *testing.T) {
	for asked, want := range map[string]string{
		"": root, root + "servers?state=Error": root + "servers?state=Error", "//evil.example/dashboard/": root, "https://evil.example/dashboard/": root,
		"/else": root, `/dashboard/\evil.example`: root, root + "signin": root, "javascript:alert(1)": root, "/dashboard/../else": "/dashboard/../else",
	} {
		if got := ownPath(asked); got != want {
			t.Errorf("%q: %q", asked, got)
		}
	}
}

func TestFiles(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"xterm.js", "xterm.css", "xterm-fit.js", "uplot.js", "uplot.css", "style.css", "dashboard.js", "icon.svg"} {
		w := s.do("GET", s.files.url(name), nil, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
		if w.Code != 200 || w.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
		again := s.do("GET", root+"assets/"+name, nil, func(r *http.Request) {
			r.Header.Set("Accept-Encoding", "gzip")
			r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		})
		if again.Code != 304 || again.Header().Get("Cache-Control") != "no-cache" || again.Body.Len() != 0 {
			t.Errorf("%s again: %d %v", name, again.Code, again.Header())
		}
	}
	check(t, "no such file", s.do("GET", root+"assets/..%2fdoc.go", nil), 404, "")
}

// TestLive: a page is streamed, changes when an object does, and its stream ends with its session.
func TestLive(t *testing.T) {
	s := newSite(t)
	s.sessions.clock, s.Clock, s.Operator.Clock = clock.RealClock{}, clock.RealClock{}, clock.RealClock{}
	s.notBefore, s.anyway = time.Millisecond, 5*time.Millisecond
	contact := &touch{}
	s.Contact = contact
	s.signInAs("reader")
	web := httptest.NewTLSServer(s.Operator)
	t.Cleanup(web.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+root+"live?path="+url.QueryEscape(root+"servers"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: cookieName, Value: s.jar[cookieName]})
	answer, err := web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	events := newEvents(t, answer.Body)
	events.want("run", s.hub.run)
	events.want("main", "Servers")
	if err := s.api.Client.Create(t.Context(), &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "node-8"}, Spec: metalv1.ServerSpec{SystemUUID: "4c4c4544-0043-3510-8052-b7c04f4e4d33"}}); err != nil {
		t.Fatal(err)
	}
	events.want("main", "node-8")
	s.api.set(func() { s.api.gone = true })
	found := s.sessions.of(r)
	found.rights.forget()
	events.want("offline", "does not answer")
	s.api.set(func() { s.api.gone = false })
	events.want("main", "node-8")
	contact.lost.Store(true) // the person's rights are known still, and nothing else would tell
	events.want("offline", whyAway)
	if shown := s.do("GET", root+"servers", nil); !strings.Contains(shown.Body.String(), `id="offline">Offline: `+strings.TrimSuffix(whyAway, ".")) {
		t.Error("a page that is opened then does not say so")
	}
	contact.lost.Store(false)
	events.want("main", "node-8")
	s.sessions.end(found)
	events.want("ended", "signed out")
}

// touch is how a process stands with the Kubernetes API.
type touch struct{ lost atomic.Bool }

func (c *touch) Err() error {
	if c.lost.Load() {
		return errors.New("no route to host")
	}
	return nil
}

func (*touch) Changes() <-chan struct{} { return nil }

// TestTheLastWordOfAStream: a Farrier that has lost the Kubernetes API says so before it listens no more; one that ends says nothing.
func TestTheLastWordOfAStream(t *testing.T) {
	s := newSite(t)
	contact := &touch{}
	s.Contact = contact
	for lost, want := range map[bool]string{true: "event: offline\ndata: " + whyOver + "\n\n", false: ""} {
		contact.lost.Store(lost)
		w := httptest.NewRecorder()
		l := &stream{dashboard: s.Dashboard, w: w, control: http.NewResponseController(w)}
		if l.lastWord(); w.Body.String() != want {
			t.Errorf("out of touch %v: %q", lost, w.Body.String())
		}
	}
}

// TestAChangeIsToldToAllWhoLook, once, however often something changes.
func TestAChangeIsToldToAllWhoLook(t *testing.T) {
	h := newHub()
	one, two := h.next(), h.next()
	h.touch()
	h.touch()
	<-one
	<-two
	select {
	case <-h.next():
		t.Error("told of a change before it has happened")
	default:
	}
}

// events reads an event stream.
type events struct {
	t    *testing.T
	read *strings.Builder
	from io.Reader
}

func newEvents(t *testing.T, from io.Reader) *events { return &events{t, &strings.Builder{}, from} }

// want reads until an event of that name with that text has come.
func (e *events) want(name, text string) {
	e.t.Helper()
	for {
		all := e.read.String()
		for {
			event, rest, whole := strings.Cut(all, "\n\n")
			if !whole {
				break
			}
			all = rest
			if strings.HasPrefix(event, "event: "+name+"\n") && strings.Contains(event, text) {
				e.read.Reset()
				e.read.WriteString(rest)
				return
			}
		}
		buffer := make([]byte, 64<<10)
		n, err := e.from.Read(buffer)
		e.read.Write(buffer[:n])
		if err != nil {
			e.t.Fatalf("no event %s with %q: %v in\n%s", name, text, err, e.read)
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	h := newHub()
	one := &session{}
	for range maxStreamsEach {
		if !h.enter(one) {
			t.Fatal("refused")
		}
	}
	if h.enter(one) {
		t.Error("a session has more than its share")
	}
	h.leave(one)
	if !h.enter(one) {
		t.Error("the place of one that has ended is not free")
	}
	for h.enter(&session{}) {
	}
	if h.streams != maxStreams {
		t.Errorf("%d streams", h.streams)
	}
}
