package load

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func get(path string) func(*rand.Rand, []byte) []byte {
	return func(_ *rand.Rand, b []byte) []byte {
		return append(b, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"...)
	}
}

func TestRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/answer" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("four"))
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	plan := Plan{Address: address, Connections: 3, Duration: 20 * time.Millisecond, Request: get("/answer")}

	got, err := Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests < 3 || got.BodyBytes != 4*int64(got.Requests) || got.P50 <= 0 || got.P99 < got.P50 || got.PerSecond() <= 0 {
		t.Errorf("outcome %+v", got)
	}

	plan.Request = get("/nothing")
	if _, err := Run(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "/nothing") {
		t.Errorf("a 404 gave %v", err)
	}

	body, err := Fetch(t.Context(), address, get("/answer")(nil, nil))
	if err != nil || string(body) != "four" {
		t.Errorf("Fetch: %q, %v", body, err)
	}
}
