package bootserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

const uuidSited = "5a5a0000-0000-4000-8000-000000000005"

// TestBases: an answer leads on to the URL of the machine's site, in the address family in which it asked.
func TestBases(t *testing.T) {
	sites, err := booturl.Parse([]string{
		"http://10.0.0.1:8082", "http://[fd00::1]:8082", "a=http://boot.a.example:8082", "a=http://[fd00:a::1]:8082", "b=http://10.2.0.1",
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *Config) { c.BootURL, c.Sites, c.Deliver = "", sites, func(Delivery) {} })
	boots := 0
	put := func(site string) {
		boots++
		id := fmt.Sprint(boots)
		script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
			BootURL: sites.Of(site).Object(), KernelURL: sites.Of(site).Object() + "/image?k", InitrdURL: "http://elsewhere/i", Attempt: bootview.Attempt{ID: id, Token: "token-of-s", Open: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/s", UUID: uuidSited, Rank: bootview.Current, Site: site, Script: script,
			Attempt: bootview.Attempt{ID: id, Token: "token-of-s", Open: true}, Terms: seenOn})
	}
	get := func(from, host, path string) string {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr, r.Host = from, host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s for %s: %d", path, from, w.Code)
		}
		return w.Body.String()
	}
	const four, mapped, six = "192.0.2.7:50000", "[::ffff:192.0.2.7]:50000", "[2001:db8::7]:50000"
	for _, c := range []struct{ site, from, want string }{
		{"", four, "http://10.0.0.1:8082"},
		{"", mapped, "http://10.0.0.1:8082"},
		{"", six, "http://[fd00::1]:8082"},
		{"a", four, "http://boot.a.example:8082"},
		{"a", six, "http://[fd00:a::1]:8082"},
		{"b", four, "http://10.2.0.1"},
		{"b", six, "http://10.2.0.1"},
		{"gone", four, "http://10.0.0.1:8082"},
	} {
		put(c.site)
		get(c.from, "10.0.0.1:8082", "/ipxe/"+uuidSited) // who has its script is told where to report to
		// Which host it asked for says nothing once the machine is known.
		for path, want := range map[string][]string{
			"/ipxe/" + uuidSited:      {"set ipxe-svc " + c.want + "\n", "set kernel-url " + c.want + "/image?k\n", "set initrd-url http://elsewhere/i\n"},
			"/ipxe?uuid=" + uuidSited: {"set ipxe-svc " + c.want + "\n"},
			"/probe/" + uuidSited:     {`"registryURL":"` + c.want + `/probe/token-of-s"`},
		} {
			got := get(c.from, "10.0.0.1:8082", path)
			for _, want := range want {
				if !strings.Contains(got, want) {
					t.Errorf("site %q, %s, %s: no %q in\n%s", c.site, c.from, path, want, got)
				}
			}
		}
	}
	// Nobody knows yet which machine asks for the chainload script.
	for _, c := range []struct{ from, host, want string }{
		{four, "10.0.0.1:8082", "http://10.0.0.1:8082"},
		{four, "stranger.example", "http://10.0.0.1:8082"},
		{six, "[fd00::1]:8082", "http://[fd00::1]:8082"},
		{four, "boot.a.example:8082", "http://boot.a.example:8082"},
		{six, "[fd00:a::1]:8082", "http://[fd00:a::1]:8082"},
		{four, "10.2.0.1:80", "http://10.2.0.1"},
	} {
		if got := get(c.from, c.host, "/ipxe"); !strings.Contains(got, "set ipxe-svc "+c.want+"\n") {
			t.Errorf("%s asks %s, which is not led to %s:\n%s", c.from, c.host, c.want, got)
		}
	}
}
