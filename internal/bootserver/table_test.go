package bootserver

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// TestTable asks for every path of the contract in every way that there is: what GET and HEAD answer differs in the body alone,
// nothing redirects, and what is no method of a path says which are.
func TestTable(t *testing.T) {
	s := newSite(t, nil)
	noURL := newSite(t, func(c *Config) { c.BootURL = "" })
	unsynced := newSite(t, nil)
	unsynced.view.SetSynced(false)
	noUKI := newSite(t, func(c *Config) { c.DefaultUKI = nil })
	for _, c := range []struct {
		name, path, from string
		site             site
		status           int
		contentType      string
		body             string // a part of it
		header, value    string
	}{
		{"chainload", "/ipxe", stranger, s, 200, "text/plain", "#!ipxe\nset ipxe-svc " + bootURL, "Cache-Control", "no-store"},
		{"chainload, slash", "/ipxe/", stranger, s, 200, "text/plain", "chain --replace --autofree", "", ""},
		{"chainload, no boot URL", "/ipxe", stranger, noURL, 503, typeText[0], textIPXEDisabled, "", ""},
		{"script", "/ipxe/" + uuidA, addrA, s, 200, "text/plain", "ignition.config.url", "Cache-Control", "no-store"},
		{"script, upper case", "/ipxe/" + strings.ToUpper(uuidA), addrA, s, 200, "text/plain", "#!ipxe", "", ""},
		{"custom script", "/ipxe/" + uuidD, stranger, s, 200, "text/plain", customText, "", ""},
		{"exit script", "/ipxe/" + uuidB, stranger, s, 200, "text/plain", "sanboot", "", ""},
		{"script of nobody", "/ipxe/" + uuidX, stranger, s, 404, typeText[0], textNotFound, "", ""},
		{"malformed UUID", "/ipxe/4c4c4544-zzzz", stranger, s, 404, typeText[0], textNotFound, "", ""},
		{"path traversal", "/ipxe/../ignition/" + uuidD, stranger, s, 404, typeText[0], textNotFound, "", ""},
		{"two configurations", "/ipxe/" + uuidC, stranger, s, 409, typeText[0], textConflict, "", ""},
		{"script, not synchronised", "/ipxe/" + uuidA, stranger, unsynced, 503, typeText[0], textUnsynced, "Retry-After", ""},
		{"script, no boot URL", "/ipxe/" + uuidA, stranger, noURL, 503, typeText[0], textIPXEDisabled, "", ""},
		{"ignition with token", "/ignition/" + uuidA + "?token=" + tokenA, addrA, s, 200, "application/json", `"ignition"`, "Cache-Control", "no-store"},
		{"ignition by the machine", "/ignition/" + uuidA, addrA, s, 200, "application/json", `"ignition"`, "", ""},
		{"ignition by another machine", "/ignition/" + uuidA, addrB, s, 403, typeText[0], textForbidden, "", ""},
		{"ignition, earlier token", "/ignition/" + uuidA + "?token=token-of-b", addrA, s, 403, typeText[0], textForbidden, "", ""},
		{"ignition, closed attempt", "/ignition/" + uuidB, addrB, s, 403, typeText[0], textForbidden, "", ""},
		{"ignition, closed attempt's token", "/ignition/" + uuidB + "?token=token-of-b", addrB, s, 403, typeText[0], textForbidden, "", ""},
		{"ignition, none referenced", "/ignition/" + uuidE, addrE, s, 404, typeText[0], textNotFound, "", ""},
		{"ignition of nobody", "/ignition/" + uuidX, stranger, s, 404, typeText[0], textNotFound, "", ""},
		{"ignition, not synchronised", "/ignition/" + uuidA, stranger, unsynced, 503, typeText[0], textUnsynced, "Retry-After", ""},
		{"httpboot, known", "/httpboot", addrA, s, 200, "application/json", `"SystemUUID":"` + uuidA + `"}`, "", ""},
		{"httpboot, unknown", "/httpboot", stranger, s, 200, "application/json", `{"ClientIPs":"` + stranger + `","UKIURL":"http://default/uki.efi"}`, "", ""},
		{"httpboot, no default", "/httpboot", stranger, noUKI, 500, typeText[0], "HTTP boot is not configured (missing default UKI)", "", ""},
		{"httpboot, not synchronised", "/httpboot", addrA, unsynced, 503, typeText[0], textUnsynced, "Retry-After", ""},
		{"a probe's URL", "/probe/" + uuidA, addrA, s, 200, "application/json", tokenA, "Cache-Control", "no-store"},
		{"a probe's URL, closed", "/probe/" + uuidB, addrB, s, 404, typeText[0], textNotFound, "", ""},
		{"boot program, none", "/boot/x86_64/snponly.efi", stranger, s, 404, typeText[0], textNotFound, "", ""},
		{"metadata, off", "/v1/", stranger, s, 404, typeText[0], textNotFound, "", ""},
		{"alive", "/healthz", stranger, s, 200, typeText[0], "ok\n", "", ""},
		{"alive, not synchronised", "/healthz", stranger, unsynced, 200, typeText[0], "ok\n", "", ""},
		{"ready", "/readyz", stranger, s, 200, typeText[0], "ok\n", "", ""},
		{"nothing", "/", stranger, s, 404, typeText[0], textNotFound, "", ""},
		{"not clean", "//ipxe", stranger, s, 404, typeText[0], textNotFound, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			do := func(method string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(method, c.path, nil)
				r.RemoteAddr = c.from + ":1"
				r.Header.Set(forwardedFor, addrA) // forged: none of these is a forwarder
				if c.from == stranger {
					r.Header.Set(forwardedFor, addrE)
				}
				w := httptest.NewRecorder()
				c.site.ServeHTTP(w, r)
				return w
			}
			get, head := do(http.MethodGet), do(http.MethodHead)
			for method, w := range map[string]*httptest.ResponseRecorder{"GET": get, "HEAD": head} {
				h := w.Header()
				if w.Code != c.status || h.Get("Content-Type") != c.contentType || h.Get("Content-Length") != strconv.Itoa(get.Body.Len()) || h.Get("Location") != "" {
					t.Errorf("%s: %d %v", method, w.Code, h)
				}
				if got := h.Get(c.header); c.header != "" && (got == "" || c.value != "" && got != c.value) {
					t.Errorf("%s: %s is %q", method, c.header, got)
				}
			}
			if !strings.Contains(get.Body.String(), c.body) || head.Body.Len() > 0 {
				t.Errorf("GET %q, HEAD %q", get.Body, head.Body)
			}
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
				if w := do(method); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
					t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
				}
			}
		})
	}
	for _, path := range []string{"/register", "/bootstate", "/probe/" + tokenA + "/register", "/probe/" + tokenA + "/bootstate"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
				t.Errorf("%s %s: %d, Allow %q", method, path, w.Code, w.Header().Get("Allow"))
			}
		}
	}
}

// Where the token alone counts a second reader is served; that both are told of lets the two be compared.
func TestIgnitionReadTwiceIsReportedTwice(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Identity = IdentityToken })
	for _, from := range []string{addrA, stranger} {
		if w := ask(s, from+":1", "/ignition/"+uuidA+"?token="+tokenA); w.Code != http.StatusOK {
			t.Fatalf("%s: %d", from, w.Code)
		}
	}
	var addrs []string
	for _, d := range *s.delivered {
		if d.Kind == bootview.DeliveredIgnition && d.Attempt == "attempt-a" && d.Status == http.StatusOK {
			addrs = append(addrs, d.Addr)
		}
	}
	if strings.Join(addrs, " ") != addrA+" "+stranger {
		t.Errorf("reported: %v", addrs)
	}
}
