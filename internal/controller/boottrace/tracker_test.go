package boottrace

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	clocktesting "k8s.io/utils/clock/testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/otlp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// stand is a tracker whose spans a collector gets.
type stand struct {
	*Tracker
	t      *testing.T
	clock  *clocktesting.FakeClock
	server *metalv1.Server
	config *metalv1.ServerBootConfiguration
	// spans returns those that were exported since it was called last, in order.
	spans func() []*tracepb.Span
}

func newStand(t *testing.T) *stand {
	t.Helper()
	stepDurations.Reset()
	bootDurations.Reset()
	t.Cleanup(stepDurations.Reset)
	t.Cleanup(bootDurations.Reset)
	got := make(chan *collectorpb.ExportTraceServiceRequest, 16)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request := &collectorpb.ExportTraceServiceRequest{}
		if err != nil || proto.Unmarshal(body, request) != nil {
			t.Errorf("not a request of OTLP: %v", err)
		}
		got <- request
	}))
	t.Cleanup(collector.Close)
	export, err := otlp.New(otlp.Options{Endpoint: collector.URL})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(noon)
	s := &stand{Tracker: New(clock, export), t: t, clock: clock, server: &metalv1.Server{}, config: &metalv1.ServerBootConfiguration{}}
	s.server.Name, s.config.Namespace, s.config.Name = "node-7", "default", "web"
	s.spans = func() (all []*tracepb.Span) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := export.Run(ended); err != nil { // sends what waits
			t.Fatal(err)
		}
		for {
			select {
			case r := <-got:
				all = append(all, r.ResourceSpans[0].ScopeSpans[0].Spans...)
			default:
				return all
			}
		}
	}
	return s
}

// wrote tells of the next version of an attempt.
func (s *stand) wrote(was *bootattempt.Attempt, change func(*bootattempt.Attempt, time.Time) *bootattempt.Attempt) *bootattempt.Attempt {
	is := change(was, s.clock.Now())
	s.Wrote(s.server, s.config, was, is)
	return is
}

func (s *stand) delivered(kind bootview.DeliveryKind, what, attempt string) {
	s.Delivered(bootview.Delivery{Kind: kind, What: what, Attempt: attempt, Addr: "192.0.2.7", Time: s.clock.Now(), Status: 200, Bytes: 10})
}

// told are spans in short: name, seconds from noon to start and end.
func told(spans []*tracepb.Span) (lines []string) {
	second := func(ns uint64) float64 { return time.Unix(0, int64(ns)).Sub(noon).Seconds() }
	for _, span := range spans {
		lines = append(lines, fmt.Sprintf("%s %g-%g", span.Name, second(span.StartTimeUnixNano), second(span.EndTimeUnixNano)))
	}
	return lines
}

func order(id string) func(*bootattempt.Attempt, time.Time) *bootattempt.Attempt {
	return func(was *bootattempt.Attempt, now time.Time) *bootattempt.Attempt { return was.Next(id, now) }
}

// boot takes an attempt from its order to the first words of its machine.
func (s *stand) boot(id string) *bootattempt.Attempt {
	a := s.wrote(nil, order(id))
	s.clock.Step(2 * time.Second)
	a = s.wrote(a, (*bootattempt.Attempt).SeenOff)
	s.clock.Step(3 * time.Second)
	a = s.wrote(a, (*bootattempt.Attempt).SeenOn)
	s.Learn(s.server, s.config, a) // the watch says it again
	s.clock.Step(5 * time.Second)
	for _, d := range []struct {
		kind bootview.DeliveryKind
		what string
	}{{bootview.DeliveredChainload, ""}, {bootview.DeliveredScript, ""}, {bootview.DeliveredArtifact, "kernel"}, {bootview.DeliveredArtifact, "initrd"}, {bootview.DeliveredIgnition, ""}} {
		s.clock.Step(time.Second)
		s.delivered(d.kind, d.what, id)
		s.delivered(d.kind, d.what, id) // a second time is no second step
	}
	return a
}

var booting = []string{
	"order 0-0", "power_off 0-2", "power_on 2-5", "chainload 5-11", "script 11-12", "kernel 12-13", "initramfs 13-14", "ignition 14-15",
}

// TestABootIsOneTrace: each step is a span once, from the step before it on, and the root is made when the machine has told what it came to.
func TestABootIsOneTrace(t *testing.T) {
	s := newStand(t)
	s.boot("a1")
	s.clock.Step(time.Second)
	s.delivered(bootview.ReceivedReport, "", "a1")
	spans := s.spans()
	if diff := cmp.Diff(append(booting[:len(booting):len(booting)], "report 15-16", "boot 0-16"), told(spans)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	root := spans[len(spans)-1]
	seen := map[string]bool{}
	for _, span := range spans {
		if got := hex.EncodeToString(span.TraceId); got != TraceID("a1") {
			t.Errorf("%s: trace %s", span.Name, got)
		}
		if span != root && string(span.ParentSpanId) != string(root.SpanId) {
			t.Errorf("%s is not below the root", span.Name)
		}
		if seen[string(span.SpanId)] {
			t.Errorf("%s has the ID of another", span.Name)
		}
		seen[string(span.SpanId)] = true
	}
	if len(root.ParentSpanId) != 0 || root.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET {
		t.Errorf("root: %v", root)
	}
	text := fmt.Sprint(spans)
	for _, word := range []string{"node-7", "default/web", "192.0.2.7", reported} {
		if !strings.Contains(text, word) {
			t.Errorf("no span has %q", word)
		}
	}
	if strings.Contains(text, "a1") {
		t.Error("a span has the ID of the attempt, which boot tokens are derived from")
	}
}

// TestAnotherProcessAgrees: IDs follow from the attempt, and steps go on where those who wrote them were.
func TestAnotherProcessAgrees(t *testing.T) {
	s := newStand(t)
	first := s.boot("a1")
	s.spans()
	other := newStand(t)
	other.clock.SetTime(s.clock.Now())
	other.Learn(other.server, other.config, first)
	other.clock.Step(time.Second)
	other.delivered(bootview.ReceivedReport, "", "a1")
	spans := other.spans()
	if diff := cmp.Diff([]string{"report 5-16", "boot 0-16"}, told(spans)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := hex.EncodeToString(spans[0].TraceId); got != TraceID("a1") {
		t.Errorf("trace %s", got)
	}
}

// TestWhatIsNoStep: refusals, strangers, attempts that nobody has ordered, and reboots long after.
func TestWhatIsNoStep(t *testing.T) {
	s := newStand(t)
	a := s.wrote(nil, order("a1"))
	s.spans()
	script := bootview.Delivery{Kind: bootview.DeliveredScript, Attempt: "a1", Time: noon, Status: 200}
	for name, change := range map[string]func(*bootview.Delivery){
		"refused":           func(d *bootview.Delivery) { d.Status = 403 },
		"a stranger":        func(d *bootview.Delivery) { d.Stranger = true },
		"no attempt":        func(d *bootview.Delivery) { d.Attempt = "" },
		"an unknown boot":   func(d *bootview.Delivery) { d.Attempt = "invented" },
		"closed until then": func(d *bootview.Delivery) { d.Attempt = "none" },
	} {
		d := script
		change(&d)
		s.Delivered(d)
		if got := told(s.spans()); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	late := newStand(t)
	late.clock.Step(recent + time.Second)
	late.Learn(late.server, late.config, a)
	late.Delivered(script)
	if got := told(late.spans()); len(got) != 0 {
		t.Errorf("a reboot long after: %v", got)
	}
}

// TestHowBootsEnd: once, and by what comes first.
func TestHowBootsEnd(t *testing.T) {
	for _, c := range []struct {
		outcome string
		end     func(*stand, *bootattempt.Attempt)
		want    []string
		failed  bool
	}{
		{superseded, func(s *stand, a *bootattempt.Attempt) { s.wrote(a, order("a2")) }, []string{"boot 0-15", "order 15-15"}, true},
		{quiet, func(s *stand, _ *bootattempt.Attempt) {
			s.clock.Step(silence)
			s.endQuiet() // not yet
			s.clock.Step(time.Second)
			s.endQuiet()
			s.endQuiet()
		}, []string{"boot 0-15"}, false},
		{reported, func(s *stand, _ *bootattempt.Attempt) {
			s.delivered(bootview.ReceivedBootState, "", "a1")
			s.clock.Step(2 * silence)
			s.endQuiet()
		}, []string{"boot_state 15-15", "boot 0-15"}, false},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			s := newStand(t)
			a := s.boot("a1")
			s.spans()
			c.end(s, a)
			spans := s.spans()
			if diff := cmp.Diff(c.want, told(spans)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, span := range spans {
				if span.Name == rootName && (span.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR) != c.failed {
					t.Errorf("status %v", span.Status)
				}
			}
			var m dto.Metric
			if err := bootDurations.WithLabelValues(c.outcome).(interface{ Write(*dto.Metric) error }).Write(&m); err != nil {
				t.Fatal(err)
			}
			if h := m.GetHistogram(); h.GetSampleCount() != 1 || h.GetSampleSum() != 15 {
				t.Errorf("%d boots of %g s, want one of 15 s", h.GetSampleCount(), h.GetSampleSum())
			}
		})
	}
}

// TestRunEndsQuietBoots, and ends with its context.
func TestRunEndsQuietBoots(t *testing.T) {
	s := newStand(t)
	s.boot("a1")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for len(bootsThatEnded(s.Tracker)) == 0 {
		s.clock.Step(silence) // until Run has its ticker, nobody minds
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var none *Tracker
	if err := none.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func bootsThatEnded(t *Tracker) (ended []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for b := range t.boots.Values() {
		if b.ended {
			ended = append(ended, b.id)
		}
	}
	return ended
}

// TestDurationsOfSteps counts each step once, also where nobody wants spans.
func TestDurationsOfSteps(t *testing.T) {
	s := newStand(t)
	s.export = nil
	s.boot("a1")
	for name, want := range map[string]float64{"power_off": 2, "power_on": 3, "chainload": 6, "kernel": 1} {
		var m dto.Metric
		if err := stepDurations.WithLabelValues(name).(interface{ Write(*dto.Metric) error }).Write(&m); err != nil {
			t.Fatal(err)
		}
		if h := m.GetHistogram(); h.GetSampleCount() != 1 || h.GetSampleSum() != want {
			t.Errorf("%s: %d of %g s, want one of %g", name, h.GetSampleCount(), h.GetSampleSum(), want)
		}
	}
}

// TestNobodyFollows: a nil Tracker, which is that of most tests, does nothing.
func TestNobodyFollows(t *testing.T) {
	var none *Tracker
	none.Learn(nil, nil, nil)
	none.Wrote(nil, nil, nil, nil)
	none.Delivered(bootview.Delivery{Attempt: "a"})
}

// BenchmarkAnswer is what following boots costs an answer to a machine whose step is known already, as most are, and of no boot.
func BenchmarkAnswer(b *testing.B) {
	t := New(clocktesting.NewFakeClock(noon), nil)
	t.Wrote(&metalv1.Server{}, &metalv1.ServerBootConfiguration{}, nil, (*bootattempt.Attempt)(nil).Next("a1", noon))
	d := bootview.Delivery{Kind: bootview.DeliveredArtifact, What: "squashfs", Attempt: "a1", Time: noon, Status: 206}
	b.ReportAllocs()
	for b.Loop() {
		t.Delivered(d)
	}
}
