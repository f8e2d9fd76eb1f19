package bootserver

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// TestTokensOfOneMachineAfterAnother: which tokens open ignition as boots are ordered, end, and are ordered again. A reader
// who comes twice is served twice; a token that has gone stays gone.
func TestTokensOfOneMachineAfterAnother(t *testing.T) {
	const uuid = "5a5a0000-0000-4000-8000-000000000006"
	attempt := func(id string, open bool) bootview.Attempt {
		return bootview.Attempt{ID: id, Token: "token-of-" + id, Open: open}
	}
	type codes struct{ first, second, none, other int } // with the tokens of the attempts, without one, from another machine's address
	for access, steps := range map[Access][]codes{
		AccessToken:    {{200, 403, 403, 403}, {403, 200, 403, 403}, {403, 403, 403, 403}, {200, 403, 403, 403}},
		AccessExpected: {{200, 403, 200, 403}, {403, 200, 200, 403}, {403, 403, 403, 403}, {200, 403, 200, 403}},
		AccessOpen:     {{200, 200, 200, 200}, {200, 200, 200, 200}, {200, 200, 200, 200}, {200, 200, 200, 200}},
	} {
		s := newSite(t, func(c *Config) { c.IgnitionAccess = access })
		for i, a := range []bootview.Attempt{attempt("first", true), attempt("second", true), attempt("second", false), attempt("first", true)} {
			s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/t", UUID: uuid, Rank: bootview.Current, Script: bootview.ExitScript(),
				Ignition: &bootview.Ignition{Payload: []byte("{}")}, Attempt: a, Terms: seenOn})
			s.do("GET", exchange{path: "/ipxe/" + uuid})
			for query, want := range map[string]int{
				"?token=token-of-first": steps[i].first, "?token=token-of-second": steps[i].second, "": steps[i].none,
			} {
				for range 2 { // once more is as good as once
					if got := s.do("GET", exchange{path: "/ignition/" + uuid + query}).Code; got != want {
						t.Errorf("%s, step %d, %q: %d, want %d", access, i, query, got, want)
					}
				}
			}
			if got := s.do("GET", exchange{path: "/ignition/" + uuid, from: addrB}).Code; got != steps[i].other {
				t.Errorf("%s, step %d, another machine's address: %d, want %d", access, i, got, steps[i].other)
			}
		}
	}
}

// TestTokensThatAreNone: what is nearly the token, or what a query may be besides, opens nothing.
func TestTokensThatAreNone(t *testing.T) {
	s := newSite(t, func(c *Config) { c.IgnitionAccess = AccessToken })
	for _, token := range []string{
		"", tokenA + "x", tokenA[:len(tokenA)-1], strings.ToUpper(tokenA), " " + tokenA, tokenA + "\x00", tokenA + "\r\n", "*", "%", strings.Repeat("x", 8<<10),
		"token-of-b", "none", "attempt-a",
	} {
		for _, path := range []string{"/ignition/" + uuidA, "/ignition/", "/ignition/" + uuidX} {
			got := s.do("GET", exchange{path: path + "?token=" + url.QueryEscape(token)})
			want := map[bool]int{true: 403, false: 404}[strings.HasSuffix(path, uuidA)]
			if got.Code != want || strings.Contains(got.Body.String(), "ignition\"") {
				t.Errorf("%s with %.40q: %d, want %d", path, token, got.Code, want)
			}
		}
	}
	for query, want := range map[string]int{
		"?token=" + tokenA + "&token=x": 200, "?token=x&token=" + tokenA: 403, "?Token=" + tokenA: 403, "?token=%zz" + tokenA: 403, "?xtoken=" + tokenA: 403,
	} {
		if got := s.do("GET", exchange{path: "/ignition/" + uuidA + query}).Code; got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// TestTokensAreNotLogged: whatever comes of a request that carries one, and however much is logged.
func TestTokensAreNotLogged(t *testing.T) {
	var lines []string
	s := newSite(t, func(c *Config) {
		c.Logger = funcr.New(func(prefix, args string) { lines = append(lines, prefix+args) }, funcr.Options{Verbosity: 10})
	})
	s.reports.err = errors.New("manager away")
	s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/c1", UUID: uuidC, Rank: bootview.HandWritten, Script: bootview.ExitScript(),
		Attempt: bootview.Attempt{ID: "c", Token: "token-of-c", Open: true}, Terms: seenOn})
	for _, e := range []exchange{
		{path: "/ignition/" + uuidA + "?token=" + tokenA},
		{path: "/ignition/" + uuidB + "?token=" + tokenA},
		{path: "/ignition/" + uuidC + "?token=token-of-c"},
		{path: "/ignition/?token=" + tokenA},
		{path: "/ipxe/" + uuidA},
		{path: "/probe/" + uuidC + "?token=token-of-c"},
		{path: "/image?token=" + tokenA},
	} {
		s.do("GET", e)
	}
	for _, action := range []string{"register", "bootstate"} {
		for _, body := range []string{report(uuidA), booted(uuidA), report(uuidB), "{"} {
			s.do("POST", exchange{path: "/probe/" + tokenA + "/" + action, body: body})
		}
	}
	if len(lines) == 0 {
		t.Error("nothing is logged at all")
	}
	for _, line := range append(lines, fmt.Sprintf("%+v", s.takeDelivered())) {
		if strings.Contains(line, "token-of-") {
			t.Errorf("logged, or handed on: %s", line)
		}
	}
}
