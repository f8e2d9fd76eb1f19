package bootserver

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestBootPrograms(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(outside, "secret"):            "secret",
		filepath.Join(dir, "x86_64", "snponly.efi"): "MZ program",
		filepath.Join(dir, "x86_64", "undi.kpxe"):   "program",
		filepath.Join(dir, "x86_64", "auto.ipxe"):   "#!ipxe",
		filepath.Join(dir, "x86_64", ".hidden"):     "hidden",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{filepath.Join(dir, "x86_64", "link.efi"), filepath.Join(dir, "away")} {
		if err := os.Symlink(outside, link); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, func(c *Config) { c.ProgramsDir = dir })
	for path, want := range map[string]struct {
		status            int
		contentType, body string
	}{
		"/boot/x86_64/snponly.efi":         {200, "application/efi", "MZ program"},
		"/boot/x86_64/undi.kpxe":           {200, "application/octet-stream", "program"},
		"/boot/x86_64/auto.ipxe":           {200, "text/plain", "#!ipxe"},
		"/boot/":                           {404, typeText[0], textNotFound},
		"/boot/x86_64":                     {404, typeText[0], textNotFound},
		"/boot/x86_64/":                    {404, typeText[0], textNotFound},
		"/boot/x86_64/none.efi":            {404, typeText[0], textNotFound},
		"/boot/x86_64/.hidden":             {404, typeText[0], textNotFound},
		"/boot/x86_64/link.efi":            {404, typeText[0], textNotFound},
		"/boot/away/secret":                {404, typeText[0], textNotFound},
		"/boot/../x86_64/snponly.efi":      {404, typeText[0], textNotFound},
		"/boot/x86_64/../../etc/passwd":    {404, typeText[0], textNotFound},
		"/boot/x86_64/%2e%2e%2fpasswd":     {404, typeText[0], textNotFound},
		"/boot//snponly.efi":               {404, typeText[0], textNotFound},
		"/boot/x86_64/snponly.efi%00":      {404, typeText[0], textNotFound},
		"/boot/x86_64/sub/dir/snponly.efi": {404, typeText[0], textNotFound},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			status, body := want.status, want.body
			switch method {
			case http.MethodHead:
				body = ""
			case http.MethodPost:
				if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
					t.Errorf("POST %s: %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
				}
				continue
			}
			if w.Code != status || w.Body.String() != body || w.Header().Get("Content-Type") != want.contentType ||
				w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Content-Length") == "" {
				t.Errorf("%s %s: %d %q %v", method, path, w.Code, w.Body, w.Header())
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/boot/x86_64/snponly.efi", nil)
	r.Header.Set("Range", "bytes=3-6")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusPartialContent || w.Body.String() != "prog" {
		t.Errorf("range: %d %q", w.Code, w.Body)
	}
}

func TestBootProgramsDirectoryMissing(t *testing.T) {
	_, err := New(Config{View: newSite(t, nil).view, ProgramsDir: filepath.Join(t.TempDir(), "none")})
	if err == nil || !strings.Contains(err.Error(), "boot programs") {
		t.Errorf("error %v", err)
	}
}

// ask makes a request from an address.
func ask(s http.Handler, from, path string, forwarded ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = from
	if len(forwarded) > 0 {
		r.Header[forwardedFor] = forwarded
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestRateLimit(t *testing.T) {
	c := clocktesting.NewFakeClock(now)
	s := newSite(t, func(cfg *Config) { cfg.RateLimit, cfg.Clock = 1, c })
	for i := range burstSeconds {
		if w := ask(s, stranger+":1", "/ipxe"); w.Code != http.StatusOK {
			t.Fatalf("request %d: %d", i, w.Code)
		}
	}
	w := ask(s, stranger+":1", "/ipxe")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || w.Body.String() != textTooMany {
		t.Errorf("one too many: %d %v %q", w.Code, w.Header(), w.Body)
	}
	for what, w := range map[string]*httptest.ResponseRecorder{
		"another address": ask(s, addrA+":1", "/ipxe"),
		"health":          ask(s, stranger+":1", "/healthz"),
	} {
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", what, w.Code)
		}
	}
	for range 3 * burstSeconds {
		if w := ask(s, dhcpServer+":1", "/httpboot", addrA); w.Code != http.StatusOK {
			t.Fatalf("a forwarder: %d", w.Code)
		}
	}
	c.Step(time.Second)
	if w := ask(s, stranger+":1", "/ipxe"); w.Code != http.StatusOK {
		t.Errorf("a second later: %d", w.Code)
	}
}

func TestPrivateForwarders(t *testing.T) {
	s := newSite(t, func(c *Config) { c.TrustedForwarders, c.TrustPrivateNetworks = nil, true })
	const known, unknown = `"SystemUUID":"` + uuidA + `"`, `http://default/uki.efi`
	for _, c := range []struct{ name, from, forwarded, want string }{
		{"a DHCP server asks for a machine", "192.168.7.1:67", addrA, known},
		{"and by MAC", "192.168.7.1:67", "02-FA-44-00-00-0A", known},
		{"a machine asks for itself", addrA + ":1", "", known},
		{"a DHCP server that is a machine asks for another", addrA + ":1", stranger, unknown},
		{"a stranger forges the header", "203.0.113.9:1", addrA, unknown},
	} {
		var forwarded []string
		if c.forwarded != "" {
			forwarded = []string{c.forwarded}
		}
		if w := ask(s, c.from, "/httpboot", forwarded...); w.Code != 200 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	// An identity from the header never opens ignition.
	if w := ask(s, addrB+":1", "/ignition/"+uuidA, addrA); w.Code != http.StatusForbidden {
		t.Errorf("ignition by a forged header: %d", w.Code)
	}
}

func TestImageAddressAnswersImagesAlone(t *testing.T) {
	s := newSite(t, nil)
	h := http.HandlerFunc(s.imagesOnly)
	for path, want := range map[string]int{"/image?a=b": 200, "/healthz": 200, "/ipxe": 404, "/ignition/" + uuidA: 404, "/httpboot": 404, "/": 404} {
		if got := ask(h, stranger+":1", path).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}
