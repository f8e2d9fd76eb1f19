package hostcheck

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllowed(t *testing.T) {
	names := []string{"boot.example", ""}
	for host, want := range map[string]bool{
		"":                        true,
		"127.0.0.1":               true,
		"127.0.0.1:8082":          true,
		"10.0.0.1:80":             true, // a page cannot have a name that looks like this
		"[::1]:8082":              true,
		"[fe80::1%25eth0]:80":     true,
		"localhost":               true,
		"LocalHost:6443":          true,
		"localhost.:6443":         true,
		"boot.example":            true,
		"BOOT.example.:8082":      true,
		"attacker.example":        false,
		"attacker.example:8082":   false,
		"127.0.0.1.attacker.test": false,
		"localhost.attacker.test": false,
		"attacker.localhost":      false,
		"boot.example.attacker":   false,
		"[attacker.example]:80":   false,
		":8082":                   false,
		".":                       false,
		"127.1":                   false, // some resolvers take it for an address; then it need not be allowed
		"2130706433":              false,
	} {
		if got := Allowed(host, names); got != want {
			t.Errorf("%q: %t, want %t", host, got, want)
		}
	}
}

func FuzzAllowed(f *testing.F) {
	for _, seed := range []string{"", "[", "[]", "]", ":", "a:b:c", "[::1", "127.0.0.1:x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if Allowed(host, nil) && !Allowed(host, []string{"x"}) {
			t.Errorf("%q is refused because there is a name", host)
		}
	})
}

func TestHandler(t *testing.T) {
	h := Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }), Names("https://boot.example:8443/x", "no URL\x7f", "")...)
	for name, c := range map[string]struct {
		local net.Addr
		host  string
		want  int
	}{
		"a page's name at loopback":        {&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, "attacker.example", http.StatusMisdirectedRequest},
		"a page's name at IPv6's loopback": {&net.TCPAddr{IP: net.IPv6loopback}, "attacker.example", http.StatusMisdirectedRequest},
		"an own name":                      {&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, "boot.example", http.StatusTeapot},
		"an address":                       {&net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, "127.0.0.2:80", http.StatusTeapot},
		"any name from outside":            {&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, "dhcp-says.example", http.StatusTeapot},
		"no connection":                    {nil, "attacker.example", http.StatusTeapot},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Host = c.host
			if c.local != nil {
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("%d, want %d", w.Code, c.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"boot.example", "::1"}, Names("http://boot.example:80/x", "", "https://[::1]:443", "/path")); diff != "" {
		t.Error(diff)
	}
}
