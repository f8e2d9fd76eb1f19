package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/inspection"
)

const testUUID = "4c4c4544-0043-3510-8052-b7c04f4e4d32"

var epoch = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// steppingClock passes the time of every timer at once, and remembers it: a
// test of pauses then needs no waiting and no second goroutine.
type steppingClock struct {
	*testclock.FakeClock
	mu     sync.Mutex
	pauses []time.Duration
}

func newSteppingClock() *steppingClock {
	return &steppingClock{FakeClock: testclock.NewFakeClock(epoch)}
}

func (c *steppingClock) NewTimer(d time.Duration) clock.Timer {
	c.mu.Lock()
	c.pauses = append(c.pauses, d)
	c.mu.Unlock()
	timer := c.FakeClock.NewTimer(d)
	c.Step(d)
	return timer
}

// registry answers with the given statuses in turn, then with 201.
type registry struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	header   http.Header
	bodies   [][]byte
	paths    []string
}

func newRegistry(t *testing.T, statuses ...int) *registry {
	t.Helper()
	r := &registry{statuses: statuses, header: http.Header{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, body)
	r.paths = append(r.paths, req.Method+" "+req.URL.Path)
	status := http.StatusCreated
	if len(r.statuses) > 0 {
		status, r.statuses = r.statuses[0], r.statuses[1:]
	}
	if status != http.StatusCreated {
		for k, v := range r.header {
			w.Header()[k] = v
		}
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "because")
}

type fakeHardware struct {
	collected int
	err       error
}

func (h *fakeHardware) Collect(context.Context) (inspection.Report, error) {
	h.collected++
	return inspection.Report{NetworkInterfaces: []inspection.NetworkInterface{{Name: "eth0", MACAddress: "02:fa:45:00:00:01"}}}, h.err
}

func config(url string, c clock.Clock) Config {
	return Config{
		RegistryURL: url + "/probe/s3cret/", ServerUUID: strings.ToUpper(testUUID), Duration: time.Second,
		Version: "v1", Clock: c, Logger: logr.Discard(), Jitter: func() float64 { return 1 },
	}
}

func TestRunPostsTheReport(t *testing.T) {
	reg, c := newRegistry(t), newSteppingClock()
	if err := Run(t.Context(), config(reg.URL, c), &fakeHardware{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"POST /probe/s3cret/register"}, reg.paths); diff != "" {
		t.Fatalf("requests (-want +got):\n%s", diff)
	}
	got, err := inspection.Decode(strings.NewReader(string(reg.bodies[0])), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want := inspection.Report{
		Timestamp: epoch, AgentVersion: "v1",
		NetworkInterfaces: []inspection.NetworkInterface{{Name: "eth0", MACAddress: "02:fa:45:00:00:01"}},
	}
	if diff := cmp.Diff(want, got.Data); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if got.SystemUUID != testUUID {
		t.Errorf("system UUID %q", got.SystemUUID)
	}
}

func TestRunBacksOff(t *testing.T) {
	reg, c, hw := newRegistry(t, 503, 401, 404, 500, 502, 429, 503, 503, 503), newSteppingClock(), &fakeHardware{}
	if err := Run(t.Context(), config(reg.URL, c), hw); err != nil {
		t.Fatal(err)
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 64, 120, 120}
	for i := range want {
		want[i] *= time.Second
	}
	if diff := cmp.Diff(want, c.pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	// At 0 s; then whenever the last report is a minute old: 63 s, 127 s, 247 s, 367 s.
	if hw.collected != 5 {
		t.Errorf("collected %d times, want 5", hw.collected)
	}
}

func TestRunHonoursRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"30": 30 * time.Second,
		"0":  time.Second,
		"-5": time.Second,
		"x":  time.Second,
		epoch.Add(20 * time.Second).Format(http.TimeFormat): 20 * time.Second,
		"999999999999": 10 * time.Minute,
		"86400":        10 * time.Minute,
	} {
		reg, c := newRegistry(t, 503), newSteppingClock()
		reg.header.Set("Retry-After", value)
		if err := Run(t.Context(), config(reg.URL, c), &fakeHardware{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Duration{want}, c.pauses); diff != "" {
			t.Errorf("Retry-After %q: pauses (-want +got):\n%s", value, diff)
		}
	}
}

func TestRunStopsWhenTheMessageIsRefused(t *testing.T) {
	for _, status := range []int{400, 405, 413, 422} {
		reg, c := newRegistry(t, status), newSteppingClock()
		err := Run(t.Context(), config(reg.URL, c), &fakeHardware{})
		var rejected *RejectedError
		if !errors.As(err, &rejected) || rejected.StatusCode != status || rejected.Text != "because" {
			t.Errorf("HTTP %d: error %v", status, err)
		}
	}
}

func TestRunTimeout(t *testing.T) {
	reg, c := newRegistry(t, 503, 503, 503, 503), newSteppingClock()
	cfg := config(reg.URL, c)
	cfg.Timeout = 5 * time.Second
	err := Run(t.Context(), cfg, &fakeHardware{})
	if err == nil || !strings.Contains(err.Error(), "given up after 3 attempts in 3s: HTTP 503: because") {
		t.Errorf("error %v", err)
	}
}

func TestRunEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reg := newRegistry(t, 503)
	// Nobody steps this clock: the first pause never ends by itself.
	c := testclock.NewFakeClock(epoch)
	done := make(chan error, 1)
	cfg := config(reg.URL, c)
	cfg.Logger = funcr.New(func(_, _ string) { cancel() }, funcr.Options{})
	go func() { done <- Run(ctx, cfg, &fakeHardware{}) }()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestRunRetriesCollecting(t *testing.T) {
	reg, c := newRegistry(t), newSteppingClock()
	cfg := config(reg.URL, c)
	cfg.Timeout = 10 * time.Second
	err := Run(t.Context(), cfg, &fakeHardware{err: errors.New("no links")})
	if err == nil || !strings.Contains(err.Error(), "collect: no links") || len(reg.paths) != 0 {
		t.Errorf("error %v, requests %q", err, reg.paths)
	}
}

func TestTokenIsNeverShown(t *testing.T) {
	var log strings.Builder
	c := newSteppingClock()
	cfg := config("http://127.0.0.1:1", c)
	cfg.Timeout = 3 * time.Second
	cfg.Logger = funcr.New(func(prefix, args string) { fmt.Fprintln(&log, prefix, args) }, funcr.Options{Verbosity: 9})
	err := Run(t.Context(), cfg, &fakeHardware{})
	if err == nil || log.Len() == 0 {
		t.Fatalf("error %v, log %q", err, log.String())
	}
	cfg.RegistryURL = "http://127.0.0.1:x/probe/s3cret"
	err2 := Run(t.Context(), cfg, &fakeHardware{})
	if err2 == nil {
		t.Fatal("a bad URL is accepted")
	}
	if text := err.Error() + err2.Error() + log.String(); strings.Contains(text, "s3cret") {
		t.Errorf("the token is shown: %s", text)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no URL":   {func(c *Config) { c.RegistryURL = "" }, "registry URL"},
		"scheme":   {func(c *Config) { c.RegistryURL = "ftp://x" }, "registry URL"},
		"no UUID":  {func(c *Config) { c.ServerUUID = "" }, "server UUID"},
		"duration": {func(c *Config) { c.Duration = -1 }, "duration"},
	} {
		cfg := config("http://127.0.0.1:1", newSteppingClock())
		tc.change(&cfg)
		if err := Run(t.Context(), cfg, &fakeHardware{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestBootState(t *testing.T) {
	reg, c := newRegistry(t, 503), newSteppingClock()
	if err := BootState(t.Context(), config(reg.URL, c), true); err != nil {
		t.Fatal(err)
	}
	got, err := inspection.DecodeBootState(strings.NewReader(string(reg.bodies[1])), 1<<10)
	if err != nil || !got.Booted || got.SystemUUID != testUUID || reg.paths[1] != "POST /probe/s3cret/bootstate" {
		t.Errorf("%+v to %q, %v", got, reg.paths[1], err)
	}
}
