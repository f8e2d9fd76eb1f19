package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/gorilla/websocket"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/console"
)

// TestConsole: whoever may write to the console of a server does, whoever may read it reads, others are told which right they lack.
func TestConsole(t *testing.T) {
	s := newSite(t)
	hub := &console.Hub{Clock: clock.RealClock{}, Logger: logr.Discard(), Open: func(context.Context, string) (console.Stream, error) {
		return nil, &console.Refusal{Reason: console.ReasonNoConsole, Err: errors.New("its BMC has no console")}
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	s.Operator.Console = hub
	web := httptest.NewServer(s.Operator)
	t.Cleanup(web.Close)
	dial := func(origin string) (*websocket.Conn, *http.Response, error) {
		header := http.Header{"Cookie": {cookieName + "=" + s.jar[cookieName]}, "Origin": {origin}}
		dialer := websocket.Dialer{Subprotocols: []string{console.Protocol}}
		return dialer.DialContext(t.Context(), strings.Replace(web.URL, "http", "ws", 1)+root+"console/node-7", header)
	}

	s.signInAs("nobody")
	check(t, "no right", s.do("GET", root+"console/node-7", nil), 403, "cannot get resource &#34;servers/console&#34;")
	s.signInAs("admin")
	check(t, "no name of a server", s.do("GET", root+"console/No_Name", nil), 404, "")
	if _, answer, err := dial("https://elsewhere.example"); err == nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another origin: %v", err)
	}
	for _, person := range []string{"admin", "reader"} {
		s.signInAs(person)
		conn, answer, err := dial(web.URL)
		if err != nil {
			t.Fatalf("%s: %v", person, err)
		}
		_ = answer.Body.Close()
		var last console.Control
		for last.Type != console.TypeError {
			if err := conn.ReadJSON(&last); err != nil {
				t.Fatalf("%s: %v", person, err)
			}
			if last.You && person == "reader" {
				t.Error("a reader writes")
			}
		}
		if last.Reason != console.ReasonNoConsole {
			t.Errorf("%s: %+v", person, last)
		}
		_ = conn.Close()
	}
}

var styleNonce = regexp.MustCompile(`<meta name="style-nonce" content="([A-Z2-7]{26})">`)

// TestStylesOfATerminal: the page of a server takes styles that carry a nonce of this answer; no other page does.
func TestStylesOfATerminal(t *testing.T) {
	s := newSite(t)
	s.signInAs("admin")
	seen := map[string]bool{}
	for range 2 {
		w := s.do("GET", root+"servers/node-7", nil)
		found := styleNonce.FindStringSubmatch(w.Body.String())
		if found == nil || seen[found[1]] || !strings.Contains(w.Header().Get("Content-Security-Policy"), "style-src 'self' 'nonce-"+found[1]+"';") {
			t.Errorf("nonce %v, policy %s", found, w.Header().Get("Content-Security-Policy"))
			continue
		}
		seen[found[1]] = true
	}
	w := s.do("GET", root+"servers", nil)
	if w.Header().Get("Content-Security-Policy") != contentPolicy || strings.Contains(w.Body.String(), "xterm") {
		t.Errorf("the list of servers: %s\n%s", w.Header().Get("Content-Security-Policy"), w.Body)
	}
}
