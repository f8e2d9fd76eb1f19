package bootserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/test/golden"
)

const (
	bootURL = "http://10.0.0.1:8082"

	uuidA = "4c4c4544-0043-3510-8052-b7c04f4e4d32" // Current, an attempt is open
	uuidB = "4c4c4544-0043-3510-8052-b7c04f4e4d33" // Current, its attempt is closed
	uuidC = "4c4c4544-0043-3510-8052-b7c04f4e4d34" // two configurations
	uuidD = "4c4c4544-0043-3510-8052-b7c04f4e4d35" // written by hand, custom script
	uuidE = "4c4c4544-0043-3510-8052-b7c04f4e4d36" // HTTP boot only
	uuidX = "4c4c4544-0043-3510-8052-b7c04f4e4dff" // nobody

	addrA, addrB, addrE, stranger = "10.0.0.10", "10.0.0.11", "10.0.0.14", "10.0.0.99"

	dhcpServer = "192.168.7.1" // a trusted forwarder
	tokenA     = "token-of-a"
	customText = "#!ipxe\r\nshell\x00"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// seenOn are the terms of a boot whose machine was seen on.
var seenOn = bootview.Terms{Seen: now}

// entries is a small site with one machine of each sort.
func entries(t *testing.T) []bootview.Entry {
	t.Helper()
	attemptA := bootview.Attempt{ID: "attempt-a", Token: tokenA, Open: true}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL:   "http://made-elsewhere",
		KernelURL: "http://made-elsewhere/image?imageName=r%2Fi&layerDigest=sha256%3Aaa&version=1",
		InitrdURL: "http://made-elsewhere/image?imageName=r%2Fi&layerDigest=sha256%3Abb&version=1",
		Attempt:   attemptA,
	})
	if err != nil {
		t.Fatal(err)
	}
	payload := &bootview.Ignition{Payload: []byte(`{"ignition":{"version":"3.4.0"}}`)}
	return []bootview.Entry{
		{Name: "IPXEBootConfig/ns/a", UUID: uuidA, MACs: []string{"02:fa:44:00:00:0a"}, IPs: []string{addrA}, Serial: "SN-A",
			Rank: bootview.Current, Script: script, Ignition: payload, Attempt: attemptA, Terms: seenOn},
		{Name: "HTTPBootConfig/ns/a", UUID: uuidA, IPs: []string{addrA}, Rank: bootview.Current, BootsFile: true,
			FileURL: bootURL + "/httpboot/r/i/sha256-aa.efi", Attempt: attemptA, Terms: seenOn},
		{Name: "IPXEBootConfig/ns/b", UUID: uuidB, IPs: []string{addrB}, Rank: bootview.Current,
			Script: bootview.ExitScript(), Ignition: payload, Attempt: bootview.Attempt{ID: "attempt-b", Token: "token-of-b"}},
		{Name: "IPXEBootConfig/ns/c1", UUID: uuidC, IPs: []string{"10.0.0.12"}, Rank: bootview.HandWritten, Script: bootview.ExitScript()},
		{Name: "IPXEBootConfig/ns/c2", UUID: uuidC, IPs: []string{"10.0.0.12"}, Rank: bootview.HandWritten, Script: bootview.ExitScript()},
		{Name: "IPXEBootConfig/ns/d", UUID: uuidD, Rank: bootview.HandWritten, Script: bootview.CustomScript([]byte(customText)),
			Ignition: &bootview.Ignition{Payload: []byte("#cloud-config"), ContentType: "text/cloud-config"}},
		{Name: "HTTPBootConfig/ns/e", UUID: uuidE, IPs: []string{addrE}, Rank: bootview.HandWritten, BootsFile: true},
	}
}

type site struct {
	*Server
	view      *bootview.View
	reports   *fakeReports
	delivered *[]Delivery
}

func newSite(t *testing.T, change func(*Config)) site {
	t.Helper()
	view := bootview.New()
	for _, e := range entries(t) {
		view.Put(e)
	}
	view.SetSynced(true)
	reports, delivered := &fakeReports{}, &[]Delivery{}
	cfg := Config{
		View: view, Reports: reports, BootURL: bootURL + "/", Blobs: fakeBlobs{},
		Deliver:           func(d Delivery) { *delivered = append(*delivered, d) },
		DefaultUKI:        func() string { return "http://default/uki.efi" },
		TrustedForwarders: []netip.Prefix{netip.MustParsePrefix(dhcpServer + "/32")},
		MaxReport:         1 << 10,
		Clock:             clocktesting.NewFakePassiveClock(now),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return site{s, view, reports, delivered}
}

// booted is the site after machine A has booted from the address stranger.
func (s site) booted() site {
	s.boots(uuidA, stranger)
	return s
}

type fakeReports struct {
	mu            sync.Mutex
	err           error
	registrations []inspection.Registration
	states        []inspection.BootState
}

func (f *fakeReports) Register(_ context.Context, r inspection.Registration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.registrations = append(f.registrations, r)
	return f.err
}

func (f *fakeReports) BootState(_ context.Context, b inspection.BootState) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states = append(f.states, b)
	return f.err
}

// fakeBlobs has one blob, its own query or path.
type fakeBlobs struct{}

func (fakeBlobs) Open(_ context.Context, u *url.URL, _ bool) (*blobcache.Blob, error) {
	text := u.RawQuery
	if u.Path != "/image" {
		text = u.Path
	}
	if text == "" {
		return nil, registry.ErrNotFound
	}
	return &blobcache.Blob{ReadSeeker: strings.NewReader(text), Size: int64(len(text))}, nil
}

func (f fakeBlobs) Stat(ctx context.Context, u *url.URL) (*blobcache.Blob, error) {
	blob, err := f.Open(ctx, u, false)
	if err == nil {
		blob.ReadSeeker = nil
	}
	return blob, err
}

// exchange is one request and what must come back. A GET is also tried as HEAD,
// which must have the same status and headers and no body.
type exchange struct {
	name    string
	method  string // GET when empty
	path    string
	from    string // stranger when empty
	header  http.Header
	body    string
	status  int
	headers map[string]string // "*": present; "": absent
	want    string            // body; "golden:<file>" for testdata
}

func (s site) run(t *testing.T, exchanges []exchange) {
	t.Helper()
	for _, e := range exchanges {
		methods := []string{e.method}
		if e.method == "" {
			methods = []string{http.MethodGet, http.MethodHead}
		}
		for _, method := range methods {
			t.Run(e.name+"/"+method, func(t *testing.T) { s.exchange(t, method, e) })
		}
	}
}

func (s site) exchange(t *testing.T, method string, e exchange) {
	t.Helper()
	got := s.do(method, e)
	if got.Code != e.status {
		t.Fatalf("status %d, want %d; %s", got.Code, e.status, got.Body)
	}
	for name, want := range e.headers {
		value := got.Header().Get(name)
		if want == "*" && value != "" {
			continue
		}
		if value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	want := e.want
	if file, ok := strings.CutPrefix(want, "golden:"); ok {
		file = filepath.Join("testdata", file)
		if method == http.MethodGet {
			golden.Equal(t, file, got.Body.Bytes())
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want = string(b)
	}
	if length := got.Header().Get("Content-Length"); length != strconv.Itoa(len(want)) {
		t.Errorf("Content-Length %q, want %d", length, len(want))
	}
	if method == http.MethodHead {
		want = ""
	}
	if diff := cmp.Diff(want, got.Body.String()); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func (s site) do(method string, e exchange) *httptest.ResponseRecorder {
	var body io.Reader
	if e.body != "" {
		body = strings.NewReader(e.body)
	}
	r := httptest.NewRequest(method, e.path, body)
	from := e.from
	if from == "" {
		from = stranger
	}
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(from), 50000).String()
	for name, values := range e.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// boots has a machine fetch its script, and the kernel that this names, from an address; stranger when that is empty.
func (s site) boots(uuid, from string) {
	for _, path := range []string{"/ipxe/" + uuid, "/image?x"} {
		s.do("GET", exchange{path: path, from: from})
	}
}

// takeDelivered returns what was delivered since it was last called.
func (s site) takeDelivered() []Delivery {
	out := *s.delivered
	*s.delivered = nil
	return out
}

func TestMethodsAndUnknownPaths(t *testing.T) {
	read := map[string]string{"Allow": "GET, HEAD"}
	post := map[string]string{"Allow": "POST"}
	const no = "Method Not Allowed\n"
	var exchanges []exchange
	for _, path := range []string{"/ipxe", "/ipxe/", "/ipxe/" + uuidA, "/ignition/" + uuidA, "/httpboot",
		"/httpboot/r/i/sha256-aa.efi", "/image", "/probe/" + uuidA, "/healthz", "/readyz", "/nothing"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"} {
			exchanges = append(exchanges, exchange{name: path, method: method, path: path, status: 405, headers: read, want: no})
		}
	}
	for _, path := range []string{"/register", "/bootstate", "/probe/" + tokenA + "/register", "/probe/x/bootstate"} {
		exchanges = append(exchanges, exchange{name: path, path: path, status: 405, headers: post, want: no})
		exchanges = append(exchanges, exchange{name: path, method: "PUT", path: path, status: 405, headers: post, want: no})
	}
	for _, path := range []string{"/", "/nothing", "/ipxe//", "//ipxe", "/ipxe/../ipxe", "/ignition", "/httpboot/", "/httpboot/x",
		"/probe/", "/probe/x/y", "/probe/x/register/z", "/image/", "/IPXE"} {
		exchanges = append(exchanges, exchange{name: path, path: path, status: 404, want: textNotFound,
			headers: map[string]string{"Location": "", "X-Content-Type-Options": "nosniff"}})
	}
	newSite(t, nil).run(t, exchanges)
}

func TestHealth(t *testing.T) {
	s := newSite(t, nil)
	s.run(t, []exchange{
		{name: "healthz", path: "/healthz", status: 200, want: "ok\n"},
		{name: "readyz", path: "/readyz", status: 200, want: "ok\n"},
	})
	s.view.SetSynced(false)
	s.run(t, []exchange{
		{name: "healthz, not synchronised", path: "/healthz", status: 200, want: "ok\n"},
		{name: "readyz, not synchronised", path: "/readyz", status: 503, headers: map[string]string{"Retry-After": "*"}, want: textUnsynced},
	})
}

func TestNothingIsAnsweredBeforeTheViewIsComplete(t *testing.T) {
	s := newSite(t, func(c *Config) { c.AllowUnauthenticatedProbe = true })
	s.view.SetSynced(false)
	var exchanges []exchange
	for _, path := range []string{"/ipxe/" + uuidA, "/ipxe/" + uuidX, "/ipxe/?mac=02:fa:44:00:00:0a", "/ignition/" + uuidA,
		"/ignition/" + uuidX + "?token=" + tokenA, "/httpboot", "/probe/" + uuidA} {
		exchanges = append(exchanges, exchange{name: path, path: path})
	}
	exchanges = append(exchanges, exchange{name: "forwarded", path: "/httpboot", from: dhcpServer, header: http.Header{"X-Forwarded-For": {addrA}}})
	for _, path := range []string{"/register", "/bootstate", "/probe/" + tokenA + "/register", "/probe/" + tokenA + "/bootstate"} {
		exchanges = append(exchanges, exchange{name: path, method: "POST", path: path, body: "{}"})
	}
	for i := range exchanges {
		exchanges[i].status, exchanges[i].want = 503, textUnsynced
		exchanges[i].headers = map[string]string{"Retry-After": "*"}
	}
	s.run(t, exchanges)
}

func TestConfigIsChecked(t *testing.T) {
	view := bootview.New()
	for name, cfg := range map[string]Config{
		"no view":               {},
		"boot URL, newline":     {View: view, BootURL: "http://x\nshell"},
		"boot URL, space":       {View: view, BootURL: "http://x/a b"},
		"boot URL, scheme":      {View: view, BootURL: "tftp://x"},
		"boot URL, no host":     {View: view, BootURL: "http:///x"},
		"boot URL, query":       {View: view, BootURL: "http://x/?a=b"},
		"boot URL, credentials": {View: view, BootURL: "http://a:b@x"},
		"boot URL, no URL":      {View: view, BootURL: "http://[x"},
		"access":                {View: view, IgnitionAccess: "anybody"},
	} {
		if s, err := New(cfg); err == nil || s != nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
