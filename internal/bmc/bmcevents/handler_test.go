package bmcevents

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnswers(t *testing.T) {
	large := `{"Events": [{"Message": "` + strings.Repeat("x", maxBody) + `"}]}`
	for name, tc := range map[string]struct {
		method string
		path   func(*stand) string
		body   string
		status int
		result result
	}{
		"an event":             {"POST", nil, event("1", "A.1.0.B", "OK"), 204, accepted},
		"a report":             {"POST", func(s *stand) string { return s.path(MetricReports, "uid-1") }, `{"MetricValues": []}`, 204, accepted},
		"a report as an event": {"POST", nil, `{"MetricValues": []}`, 204, accepted},
		"a test":               {"POST", nil, `{}`, 204, accepted},
		"behind a proxy":       {"POST", func(s *stand) string { return "/farrier" + s.path(Alerts, "uid-1") }, `{}`, 204, accepted},
		"no JSON":              {"POST", nil, `<xml/>`, 400, malformed},
		"nothing":              {"POST", nil, ``, 400, malformed},
		"too much":             {"POST", nil, large, 413, tooLarge},
		"GET":                  {"GET", nil, ``, 405, notPosted},
		"HEAD":                 {"HEAD", nil, ``, 405, notPosted},
		"PUT anywhere":         {"PUT", func(*stand) string { return "/x" }, ``, 405, notPosted},
		"no path":              {"POST", func(*stand) string { return "/" }, `{}`, 404, strange},
		"a guess":              {"POST", func(*stand) string { return "/alerts/uid-1/guess" }, `{}`, 404, strange},
		"a guess, too much":    {"POST", func(*stand) string { return "/alerts/uid-1/guess" }, large, 404, strange},
		"a BMC that is gone":   {"POST", func(s *stand) string { return s.path(Alerts, "uid-2") }, `{}`, 404, strange},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, Options{})
			path := s.path(Alerts, "uid-1")
			if tc.path != nil {
				path = tc.path(s)
			}
			w := s.send(tc.method, path, tc.body)
			if w.Code != tc.status || w.Body.Len() != 0 {
				t.Errorf("answered %d %q, want %d and nothing", w.Code, w.Body, tc.status)
			}
			if allow := w.Header().Get("Allow"); (allow == "POST") != (tc.status == 405) {
				t.Errorf("Allow: %q", allow)
			}
			if n := s.series()[`farrier_bmc_event_deliveries_total{result="`+string(tc.result)+`"}`]; n != 1 {
				t.Errorf("%v requests counted as %s", n, tc.result)
			}
		})
	}
}

// TestTooMuchOfUnknownLength: the limit is not that of a header.
func TestTooMuchOfUnknownLength(t *testing.T) {
	s := newStand(t, Options{})
	for size, want := range map[int]int{maxBody: http.StatusNoContent, maxBody + 1: http.StatusRequestEntityTooLarge} {
		body := struct{ io.Reader }{strings.NewReader("{" + strings.Repeat(" ", size-2) + "}")}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.path(Alerts, "uid-1"), body))
		if w.Code != want {
			t.Errorf("%d bytes are answered %d, want %d", size, w.Code, want)
		}
	}
}

// TestForgedPathsLearnNothing: whether a BMC exists shows neither in the answer nor in what was done
// for it, because a token is verified before anything is looked up.
func TestForgedPathsLearnNothing(t *testing.T) {
	s := newStand(t, Options{})
	good := s.path(Alerts, "uid-1")
	token := good[strings.LastIndex(good, "/")+1:]
	var first *httptest.ResponseRecorder
	for _, path := range []string{
		"/alerts/uid-1/" + strings.Repeat("A", len(token)), "/alerts/uid-9/" + strings.Repeat("A", len(token)),
		"/alerts/uid-1/" + token[:len(token)-1] + "-", "/alerts/uid-9/" + token, "/alerts/uid-1/", "/",
	} {
		body := &untouched{}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body))
		if first == nil {
			first = w
		}
		if w.Code != http.StatusNotFound || w.Code != first.Code || !maps.EqualFunc(w.Header(), first.Header(), func(a, b []string) bool { return cmp.Equal(a, b) }) {
			t.Errorf("%s is answered by %d %v, another by %d %v", path, w.Code, w.Header(), first.Code, first.Header())
		}
		if body.read {
			t.Errorf("%s: the body was read", path)
		}
	}
}

type untouched struct{ read bool }

func (u *untouched) Read([]byte) (int, error) {
	u.read = true
	return 0, io.EOF
}

func TestABodyThatBreaksOff(t *testing.T) {
	s := newStand(t, Options{})
	w := httptest.NewRecorder()
	body := io.MultiReader(strings.NewReader(`{"Events": [`), broke{})
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.path(Alerts, "uid-1"), body))
	if w.Code != http.StatusRequestTimeout || len(s.told) != 0 {
		t.Errorf("answered %d, told %v", w.Code, s.told)
	}
}

type broke struct{}

func (broke) Read([]byte) (int, error) { return 0, errors.New("broke off") }

// TestRoom: one BMC that sends slowly has a few messages on the way at most, and all together no
// more than there is room for.
func TestRoom(t *testing.T) {
	const all = maxOfOne + 2
	s := newStand(t, Options{MaxMessages: all})
	s.Listen("uid-2", "rack-2")
	s.Listen("uid-3", "rack-3")
	started, release := make(chan struct{}), make(chan struct{})
	answers := make(chan int, all)
	slow := func(uid string) {
		path := s.path(Alerts, uid)
		go func() {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, &held{started: started, release: release}))
			answers <- w.Code
		}()
		<-started
	}
	for range maxOfOne {
		slow("uid-1")
	}
	if w := s.send(http.MethodPost, s.path(Alerts, "uid-1"), `{}`); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("one more of the same BMC: %d %v", w.Code, w.Header())
	}
	slow("uid-2")
	slow("uid-2")
	if w := s.send(http.MethodPost, s.path(Alerts, "uid-3"), `{}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one more than there is room for: %d", w.Code)
	}
	close(release)
	for range all {
		if code := <-answers; code != http.StatusNoContent {
			t.Errorf("a slow one is answered %d", code)
		}
	}
	for _, uid := range []string{"uid-1", "uid-2", "uid-3"} {
		if w := s.send(http.MethodPost, s.path(Alerts, uid), `{}`); w.Code != http.StatusNoContent {
			t.Errorf("afterwards %s: %d", uid, w.Code)
		}
	}
}

// held is the body {} that comes when it is released.
type held struct {
	started chan<- struct{}
	release <-chan struct{}
	rest    string
}

func (h *held) Read(p []byte) (int, error) {
	if h.started != nil {
		h.started <- struct{}{}
		<-h.release
		h.started, h.rest = nil, "{}"
	}
	if h.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}
