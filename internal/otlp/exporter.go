package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

const (
	// queued is how many spans wait at most: some minutes of a fleet of ten thousand that boots.
	queued = 1 << 13
	// batch is how many spans are in one request at most.
	batch = 512
	// parting is how long the last request may take when the process ends.
	parting = time.Second
	// mostAnswer is how much is read of the answer of a collector.
	mostAnswer = 1 << 20
)

// Outcomes of spans.
const (
	sent    = "sent"
	failed  = "failed"
	dropped = "dropped"
)

// Options say where spans go.
type Options struct {
	// Endpoint is the base URL of the collector, such as http://collector:4318.
	Endpoint string
	// Program and Version say who sends.
	Program, Version string
	Logger           logr.Logger

	lookup environment // nil: that of the process
}

// Exporter sends spans to a collector. It is a collector of its own metrics, in the other sense of the word.
type Exporter struct {
	client   otlptrace.Client
	timeout  time.Duration
	queue    chan *tracepb.Span
	resource []Attribute
	version  string
	logger   logr.Logger
	outcomes *prometheus.CounterVec
	failing  bool // of Run alone
}

// New checks the options and what the environment says, and connects to nobody.
func New(o Options) (*Exporter, error) {
	if o.lookup == nil {
		o.lookup = os.LookupEnv
	}
	endpoint, err := checkEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if err := o.lookup.check(); err != nil {
		return nil, err
	}
	transport, err := o.lookup.transport()
	if err != nil {
		return nil, err
	}
	timeout, err := o.lookup.timeout()
	if err != nil {
		return nil, err
	}
	program := o.Program
	if name, set := o.lookup("OTEL_SERVICE_NAME"); set && name != "" {
		program = name
	}
	host, _ := os.Hostname()
	return &Exporter{
		client: otlptracehttp.NewClient(
			otlptracehttp.WithEndpointURL(endpoint.JoinPath("v1/traces").String()),
			otlptracehttp.WithHTTPClient(&http.Client{Transport: limited{transport}, CheckRedirect: noRedirect}),
			otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: timeout, MaxElapsedTime: timeout}),
		),
		timeout: timeout, queue: make(chan *tracepb.Span, queued), logger: o.Logger, version: o.Version,
		resource: []Attribute{{Key: "service.name", Text: program}, {Key: "service.version", Text: o.Version}, {Key: "host.name", Text: host}},
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_trace_spans_total",
			Help: "Spans for --otlp-endpoint, by what came of them.",
		}, []string{"outcome"}),
	}, nil
}

// checkEndpoint reads a base URL.
func checkEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.Unwrap(err) // what is around it repeats the URL, in which there may be a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("not an http or https URL with a host")
	case u.User != nil:
		return nil, fmt.Errorf("a user does not belong into the URL; use %sHEADERS", prefix)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("a query or a fragment does not belong into the URL")
	}
	return u, nil
}

// noRedirect keeps headers, which may be secrets, at whom they were meant for.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// limited bounds what is read of an answer.
type limited struct{ *http.Transport }

func (t limited) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.Transport.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, mostAnswer), answer.Body}
	}
	return answer, err
}

// Export queues a span. It never waits. A nil Exporter does nothing.
func (e *Exporter) Export(s Span) {
	if e != nil {
		e.enqueue(s)
	}
}

func (e *Exporter) enqueue(s Span) {
	select {
	case e.queue <- s.proto():
	default:
		e.outcomes.WithLabelValues(dropped).Inc()
	}
}

// Run sends spans until ctx ends, and then, for a moment, those that wait.
func (e *Exporter) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case s := <-e.queue:
			e.send(ctx, e.waiting(s))
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	for spans := e.waiting(); len(spans) > 0; spans = e.waiting() {
		e.send(end, spans)
	}
	return nil
}

// waiting takes what is queued, up to a batch.
func (e *Exporter) waiting(spans ...*tracepb.Span) []*tracepb.Span {
	for len(spans) < batch {
		select {
		case s := <-e.queue:
			spans = append(spans, s)
		default:
			return spans
		}
	}
	return spans
}

// send sends spans once. Those that a collector does not take are lost: newer ones wait. The log says when that begins and when it is over.
func (e *Exporter) send(ctx context.Context, spans []*tracepb.Span) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	outcome := sent
	err := e.client.UploadTraces(ctx, request(e.resource, "farrier", e.version, spans))
	switch {
	case err != nil:
		outcome = failed
		if !e.failing {
			e.logger.Info("spans are lost: the collector of --otlp-endpoint does not take them", "error", err)
		}
	case e.failing:
		e.logger.Info("the collector of --otlp-endpoint takes spans again")
	}
	e.failing = err != nil
	e.outcomes.WithLabelValues(outcome).Add(float64(len(spans)))
}

// Describe and Collect make it a prometheus.Collector.
func (e *Exporter) Describe(ch chan<- *prometheus.Desc) { e.outcomes.Describe(ch) }

// Collect is part of it.
func (e *Exporter) Collect(ch chan<- prometheus.Metric) { e.outcomes.Collect(ch) }
