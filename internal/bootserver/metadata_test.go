package bootserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootview"
)

func TestMetadata(t *testing.T) {
	const flavor, addrF = "IronCore Metal", "10.0.0.15"
	instances := &bootview.Instances{}
	instances.Put(bootview.Instance{
		Name: "a", IPs: []string{addrA}, Fields: map[string]string{"server-name": "a", "rack": "7", "user-data": "a field is not user data"},
		UserData: map[string][]byte{"userData": []byte("\x00\xff"), "text": []byte("hello")},
	})
	instances.Put(bootview.Instance{Name: "b", IPs: []string{addrB, addrE}, Fields: map[string]string{"server-name": "b"}})
	instances.Put(bootview.Instance{Name: "f", IPs: []string{addrF}, Fields: map[string]string{"server-name": "f", "user-data": "a field is not user data"}})
	instances.Put(bootview.Instance{Name: "e", IPs: []string{addrE}})
	on := newSite(t, func(c *Config) { c.Instances = instances })
	unsynced := newSite(t, func(c *Config) { c.Instances = &bootview.Instances{} })
	off := newSite(t, nil)
	instances.SetSynced(true)

	for _, c := range []struct {
		name                string
		site                site
		method, path        string
		from, flavor        string
		status              int
		contentType, answer string
	}{
		{"off", off, "GET", "/v1/", addrA, flavor, 404, typeText[0], textNotFound},
		{"no header", on, "GET", "/v1/", addrA, "", 403, typeText[0], textNoFlavor},
		{"another header", on, "GET", "/v1/rack", addrA, "Google", 403, typeText[0], textNoFlavor},
		{"not synchronised", unsynced, "GET", "/v1/", addrA, flavor, 503, typeText[0], textUnsynced},
		{"a stranger", on, "GET", "/v1/", stranger, flavor, 404, typeText[0], textNotFound},
		{"an address of two", on, "GET", "/v1/server-name", addrE, flavor, 409, typeText[0], textShared},
		{"all", on, "GET", "/v1/", addrB, flavor, 200, "application/json", `{"server-name":"b"}`},
		{"all, no slash", on, "GET", "/v1", addrB, flavor, 200, "application/json", `{"server-name":"b"}`},
		{"all, with user data", on, "GET", "/v1/", addrA, flavor, 200, "application/json",
			`{"rack":"7","server-name":"a","user-data":{"text":"hello","userData":"\u0000\ufffd"}}`},
		{"all, a field in place of user data", on, "GET", "/v1/", addrF, flavor, 200, "application/json", `{"server-name":"f"}`},
		{"all user data", on, "GET", "/v1/user-data", addrA, flavor, 200, "application/json", `{"text":"hello","userData":"\u0000\ufffd"}`},
		{"a field", on, "GET", "/v1/rack", addrA, flavor, 200, typeText[0], "7"},
		{"no such field", on, "GET", "/v1/shelf", addrA, flavor, 404, typeText[0], textNotFound},
		{"a path", on, "GET", "/v1/../rack", addrA, flavor, 404, typeText[0], textNotFound},
		{"user data", on, "GET", "/v1/user-data/userData", addrA, flavor, 200, "application/octet-stream", "\x00\xff"},
		{"no such key", on, "GET", "/v1/user-data/none", addrA, flavor, 404, typeText[0], textNotFound},
		{"no user data", on, "GET", "/v1/user-data", addrB, flavor, 404, typeText[0], textNotFound},
		{"post", on, "POST", "/v1/", addrA, flavor, 405, typeText[0], textNotAllowed},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []string{c.method, http.MethodHead} {
				if c.method == http.MethodPost {
					method = c.method
				}
				r := httptest.NewRequest(method, c.path, nil)
				r.RemoteAddr = c.from + ":1"
				r.Header.Set(metadataFlavor, c.flavor)
				r.Header.Set(forwardedFor, addrA)
				w := httptest.NewRecorder()
				c.site.ServeHTTP(w, r)
				want := c.answer
				if method == http.MethodHead {
					want = ""
				}
				if w.Code != c.status || w.Body.String() != want || w.Header().Get("Content-Type") != c.contentType {
					t.Errorf("%s: %d %q %v", method, w.Code, w.Body, w.Header())
				}
			}
		})
	}
}
