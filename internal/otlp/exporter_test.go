package otlp

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is a receiver of OTLP.
type collector struct {
	t        *testing.T
	requests chan received
	// answer, if set, is called before the answer is written.
	answer func(w http.ResponseWriter, r *http.Request)
}

type received struct {
	path   string
	header http.Header
	*collectorpb.ExportTraceServiceRequest
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			c.t.Error(err)
			return
		}
		body = unpacked
	}
	text, err := io.ReadAll(body)
	var got collectorpb.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(text, &got) != nil {
		c.t.Errorf("not a request of OTLP: %v", err)
		return
	}
	c.requests <- received{r.URL.Path, r.Header.Clone(), &got}
	if c.answer != nil {
		c.answer(w, r)
	}
}

func listen(t *testing.T, secure bool) (*collector, *httptest.Server) {
	t.Helper()
	c := &collector{t: t, requests: make(chan received, 64)}
	var s *httptest.Server
	if secure {
		s = httptest.NewTLSServer(c)
	} else {
		s = httptest.NewServer(c)
	}
	t.Cleanup(s.Close)
	return c, s
}

// with is an environment of these variables alone.
func with(pairs ...string) environment {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func started(t *testing.T, o Options) *Exporter {
	t.Helper()
	if o.lookup == nil {
		o.lookup = with()
	}
	o.Logger, o.Program, o.Version = logr.Discard(), "farrier", "v1"
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// run runs until the test ends, and returns what ends it before.
func run(t *testing.T, e *Exporter) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (c *collector) next() received {
	c.t.Helper()
	select {
	case r := <-c.requests:
		return r
	case <-time.After(2 * time.Minute):
		c.t.Fatal("the collector got no request")
		return received{}
	}
}

func example() Span {
	start := time.Unix(1000, 5)
	return Span{
		Trace: TraceID{1, 2}, ID: SpanID{3}, Parent: SpanID{4}, Name: "script", Start: start, End: start.Add(time.Second), Error: "why",
		Attributes: []Attribute{{Key: "text", Text: "a"}, {Key: "number", Number: 7}},
	}
}

// TestACollectorGetsSpans as they were exported, at the path of the protocol below the base URL.
func TestACollectorGetsSpans(t *testing.T) {
	c, s := listen(t, false)
	e := started(t, Options{Endpoint: s.URL + "/base"})
	run(t, e)
	e.Export(example())
	got := c.next()
	if got.path != "/base/v1/traces" || got.header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("path %q, %v", got.path, got.header)
	}
	resource := got.ResourceSpans[0].Resource.Attributes
	if resource[0].Key != "service.name" || resource[0].Value.GetStringValue() != "farrier" {
		t.Errorf("resource: %v", resource)
	}
	span := got.ResourceSpans[0].ScopeSpans[0].Spans[0]
	if hex.EncodeToString(span.TraceId) != "0102"+strings.Repeat("0", 28) || hex.EncodeToString(span.ParentSpanId) != "04"+strings.Repeat("0", 14) {
		t.Errorf("IDs: %x, %x", span.TraceId, span.ParentSpanId)
	}
	if span.Name != "script" || span.StartTimeUnixNano != 1000_000_000_005 || span.EndTimeUnixNano-span.StartTimeUnixNano != 1e9 {
		t.Errorf("span: %v", span)
	}
	if span.Status.Code != tracepb.Status_STATUS_CODE_ERROR || span.Status.Message != "why" {
		t.Errorf("status: %v", span.Status)
	}
	if a := span.Attributes; a[0].Value.GetStringValue() != "a" || a[1].Value.GetIntValue() != 7 {
		t.Errorf("attributes: %v", a)
	}
}

// TestTheEnvironmentSaysHow: headers, compression and the certificates of both sides.
func TestTheEnvironmentSaysHow(t *testing.T) {
	c, s := listen(t, true)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	// The client of OpenTelemetry reads headers and compression from the process.
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=metal,authorization=Bearer%20secret")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip")
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", ca)
	t.Setenv("OTEL_SERVICE_NAME", "farrier-hall-2")
	e := started(t, Options{Endpoint: s.URL, lookup: os.LookupEnv})
	run(t, e)
	e.Export(example())
	got := c.next()
	if got.header.Get("X-Tenant") != "metal" || got.header.Get("Authorization") != "Bearer secret" || got.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("headers: %v", got.header)
	}
	if name := got.ResourceSpans[0].Resource.Attributes[0].Value.GetStringValue(); name != "farrier-hall-2" {
		t.Errorf("service %q", name)
	}
}

// TestAnUntrustedCollectorGetsNothing.
func TestAnUntrustedCollectorGetsNothing(t *testing.T) {
	c, s := listen(t, true)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	e := started(t, Options{Endpoint: s.URL, lookup: with("OTEL_EXPORTER_OTLP_TIMEOUT", "1000")})
	e.Export(example())
	e.send(t.Context(), e.waiting())
	if n := testutil.ToFloat64(e.outcomes.WithLabelValues(failed)); n != 1 {
		t.Errorf("%g spans failed", n)
	}
	if len(c.requests) != 0 {
		t.Error("a collector with an unknown certificate got spans")
	}
}

// TestAHangingCollectorHoldsUpNobody: what does not fit into the queue is dropped and counted, and the end comes although the request hangs.
func TestAHangingCollectorHoldsUpNobody(t *testing.T) {
	c, s := listen(t, false)
	hanging := make(chan struct{})
	t.Cleanup(func() { close(hanging) })
	c.answer = func(http.ResponseWriter, *http.Request) { <-hanging }
	e := started(t, Options{Endpoint: s.URL})
	stop := run(t, e)
	e.Export(example())
	c.next() // hangs now
	const more = 100
	for range queued + more {
		e.Export(example())
	}
	if n := testutil.ToFloat64(e.outcomes.WithLabelValues(dropped)); n != more {
		t.Errorf("%g spans dropped, want %d", n, more)
	}
	stop()
	if n := testutil.ToFloat64(e.outcomes.WithLabelValues(sent)); n != 0 {
		t.Errorf("%g spans sent to a collector that never answered", n)
	}
}

// TestWhatWaitsIsSentAtTheEnd.
func TestWhatWaitsIsSentAtTheEnd(t *testing.T) {
	c, s := listen(t, false)
	e := started(t, Options{Endpoint: s.URL})
	const spans = batch + 3
	for range spans {
		e.Export(example())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
	got := len(c.next().ResourceSpans[0].ScopeSpans[0].Spans)
	if got != batch {
		t.Errorf("%d spans in a request, want %d", got, batch)
	}
	if got += len(c.next().ResourceSpans[0].ScopeSpans[0].Spans); got != spans {
		t.Errorf("%d spans, want %d", got, spans)
	}
}

// TestARedirectIsNotFollowed: headers may be secrets.
func TestARedirectIsNotFollowed(t *testing.T) {
	other, elsewhere := listen(t, false)
	c, s := listen(t, false)
	c.answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}
	e := started(t, Options{Endpoint: s.URL})
	e.Export(example())
	e.send(t.Context(), e.waiting())
	if len(other.requests) != 0 || testutil.ToFloat64(e.outcomes.WithLabelValues(failed)) != 1 {
		t.Error("the redirect was followed")
	}
}

// TestWhatCannotWorkIsRefused, in words that repeat no secret.
func TestWhatCannotWorkIsRefused(t *testing.T) {
	const good = "http://127.0.0.1:4318"
	file := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		endpoint string
		env      []string
		says     string
	}{
		{"127.0.0.1:4318", nil, ""},
		{"collector", nil, "not an http or https URL"},
		{"grpc://collector:4317", nil, "not an http or https URL"},
		{"http://", nil, "not an http or https URL"},
		{"http://me:secret@collector", nil, "OTEL_EXPORTER_OTLP_HEADERS"},
		{"http://me:secret@coll ector", nil, ""},
		{"http://collector?token=secret", nil, "a query"},
		{good, []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{good, []string{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "10s"}, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"},
		{good, []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "0"}, "OTEL_EXPORTER_OTLP_TIMEOUT"},
		{good, []string{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"}, "OTEL_EXPORTER_OTLP_COMPRESSION"},
		{good, []string{"OTEL_EXPORTER_OTLP_HEADERS", "secret"}, "OTEL_EXPORTER_OTLP_HEADERS"},
		{good, []string{"OTEL_EXPORTER_OTLP_HEADERS", "a=b,c=%zzsecret"}, "OTEL_EXPORTER_OTLP_HEADERS"},
		{good, []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", file}, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		{good, []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", file + "-missing"}, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		{good, []string{"OTEL_EXPORTER_OTLP_CLIENT_KEY", file}, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
		{good, []string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", file}, "OTEL_EXPORTER_OTLP_CLIENT_KEY"},
		{good, []string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", file, "OTEL_EXPORTER_OTLP_CLIENT_KEY", file}, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
	} {
		_, err := New(Options{Endpoint: c.endpoint, lookup: with(c.env...)})
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s %v: %v", c.endpoint, c.env, err)
		}
	}
}

// TestNobodyWantsSpans: without an endpoint there is no exporter, and nothing happens.
func TestNobodyWantsSpans(t *testing.T) {
	var e *Exporter
	if n := testing.AllocsPerRun(10, func() { e.Export(Span{}) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
