package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/console"
)

// socket is a viewer's end of a WebSocket.
type socket struct {
	*websocket.Conn
	t *testing.T
}

func (h *hub) serves(t *testing.T, access console.Access) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Serve(w, r, "node-7", access) }))
	t.Cleanup(s.Close)
	return s
}

func dial(t *testing.T, s *httptest.Server) *socket {
	t.Helper()
	conn, answer, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	t.Cleanup(func() { _ = conn.Close() })
	return &socket{conn, t}
}

// until reads messages until one is as wanted.
func (s *socket) until(want func(kind int, p []byte) bool) {
	s.t.Helper()
	for {
		kind, p, err := s.ReadMessage()
		if err != nil {
			s.t.Fatal(err)
		}
		if want(kind, p) {
			return
		}
	}
}

// told reads until a Control is as wanted.
func (s *socket) told(want func(console.Control) bool) {
	s.t.Helper()
	s.until(func(kind int, p []byte) bool {
		c, err := console.ParseControl(p)
		return kind == websocket.TextMessage && err == nil && want(c)
	})
}

func ended(reason string) func(console.Control) bool {
	return func(c console.Control) bool { return c.Type == console.TypeError && c.Reason == reason }
}

// TestTheWebSocket carries bytes and controls, refuses what is neither, and pages of other origins.
func TestTheWebSocket(t *testing.T) {
	h, l := newHub(t, clock.RealClock{}), newLine()
	h.lines <- l
	s := h.serves(t, console.Access{User: "alice", Write: true})
	alice := dial(t, s)
	alice.told(writer("alice", true))
	l.prints(t, "login: ")
	alice.until(func(kind int, p []byte) bool { return kind == websocket.BinaryMessage && string(p) == "login: " })
	size, _ := json.Marshal(console.Control{Type: console.TypeResize, Columns: 90, Rows: 20})
	if err := errors.Join(alice.WriteMessage(websocket.BinaryMessage, []byte("root")), alice.WriteMessage(websocket.TextMessage, size)); err != nil {
		t.Fatal(err)
	}
	if typed, size := <-l.typed, <-l.sizes; typed != "root" || size != [2]int{90, 20} {
		t.Errorf("typed %q, size %v", typed, size)
	}
	bob := dial(t, h.serves(t, console.Access{User: "bob"}))
	bob.told(writer("alice", false))
	if err := bob.WriteMessage(websocket.BinaryMessage, []byte("b")); err != nil {
		t.Fatal(err)
	}
	bob.told(func(c console.Control) bool {
		return c.Type == console.TypeReader && c.Message == console.ErrReader.Error()
	})
	for _, bad := range []string{`{"type":"reboot"}`, `no JSON`, `{"type":"resize","columns":-1,"rows":5}`, `{"type":"take","more":1}`} {
		carol := dial(t, s)
		carol.told(writer("alice", false))
		if err := carol.WriteMessage(websocket.TextMessage, []byte(bad)); err != nil {
			t.Fatal(err)
		}
		carol.told(ended(console.ReasonForbidden))
	}
	big := dial(t, s)
	big.told(writer("alice", false))
	_ = big.WriteMessage(websocket.BinaryMessage, make([]byte, 1<<20)) // it may be closed meanwhile
	for {
		if _, _, err := big.ReadMessage(); err != nil {
			break
		}
	}
	stranger, answer, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), http.Header{"Origin": {"https://attacker.example"}})
	if err == nil {
		_ = stranger.Close()
	}
	if answer == nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another origin: %v", answer)
	}
	_ = answer.Body.Close()
}

// TestARightThatEnds ends the console of whoever had it.
func TestARightThatEnds(t *testing.T) {
	c := newClock()
	h, l := newHub(t, c), newLine()
	h.lines <- l
	s := h.serves(t, console.Access{User: "alice", Recheck: func(context.Context) error { return errors.New("the token has expired") }})
	alice := dial(t, s)
	alice.told(state(console.StateConnected))
	c.waitedFor(5 * time.Minute)
	c.Step(5 * time.Minute)
	alice.told(ended(console.ReasonForbidden))
}
