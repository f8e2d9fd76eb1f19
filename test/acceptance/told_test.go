package acceptance

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	eventsv1 "k8s.io/api/events/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/product"
)

// collector receives spans as a collector of OpenTelemetry does.
type collector struct {
	mu     sync.Mutex
	traces map[string][]*tracepb.Span
	broken error
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || r.URL.Path != "/v1/traces" {
		c.broken = fmt.Errorf("%s: %w", r.URL.Path, err)
	}
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				id := hex.EncodeToString(span.TraceId)
				c.traces[id] = append(c.traces[id], span)
			}
		}
	}
}

// lacks says which of these steps of a trace have not come; empty: none.
func (c *collector) lacks(trace string, steps ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return c.broken
	}
	got := map[string]int{}
	for _, span := range c.traces[trace] {
		got[span.Name]++
	}
	for _, step := range steps {
		if got[step] != 1 {
			return fmt.Errorf("trace %s has %v, want each of %v once", trace, got, steps)
		}
	}
	return nil
}

// TestALifeIsTold: a collector gets one trace of each boot, under the ID that the timeline shows; a server that nobody has claimed makes no events, and
// the life of a claim makes those that docs/kubernetes-events.md lists, each once.
func TestALifeIsTold(t *testing.T) {
	received := &collector{traces: map[string][]*tracepb.Span{}}
	listener := httptest.NewServer(received)
	t.Cleanup(listener.Close)
	l := newLab(t, 1)
	p := l.up(t, "--otlp-endpoint", listener.URL)
	l.discover(p)
	name := l.BMCs()[0].Name + "-system-0"
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	if got := p.eventsOf(t, "Server", name); len(got) != 0 {
		t.Errorf("a server that nobody has claimed makes events: %v", got)
	}
	l.ignition(p, "web", "ignition")
	l.claim(p, "web")
	p.boots(l.machine(p, name), sim.OutcomeInstalled)
	claimed := []string{"Allocated", "BootConfigurationReady", "BootOrdered", "IPXEScriptFetched", "IgnitionDataFetched", "Started"}
	p.Eventually("events of the claim", func(context.Context) error { return sameEvents(p.eventsOf(t, "ServerClaim", "web"), claimed) })
	booted := p.traceOf(t, name)
	p.Eventually("the trace of the boot", func(context.Context) error {
		return received.lacks(booted, "order", "power_on", "chainload", "script", "kernel", "initramfs", "ignition")
	})
	p.deleteClaim("web")
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	p.Eventually("events of the server", func(context.Context) error {
		return sameEvents(p.eventsOf(t, "Server", name), []string{"Claimed", "Cleaned", "Released"})
	})
	received.mu.Lock()
	traces := slices.Collect(maps.Keys(received.traces))
	received.mu.Unlock()
	ended := 0
	for _, id := range traces {
		if received.lacks(id, "report", "boot") == nil {
			ended++
		}
	}
	if len(traces) != 3 || ended != 2 {
		t.Errorf("%d traces, %d of them ended by a report; want those of discovery, claim and cleanup", len(traces), ended)
	}
}

// eventsOf are the reasons of the events of an object, as often as they were sent.
func (p *running) eventsOf(t *testing.T, kind, name string) (reasons []string) {
	t.Helper()
	var list eventsv1.EventList
	if err := p.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Regarding.Kind != kind || e.Regarding.Name != name {
			continue
		}
		if e.Reason == metalv1.ConditionTroubled || e.Reason == "TroubleOver" {
			continue // a boot is overdue on a machine that is busy with other tests, and is said to be
		}
		count := int32(1)
		if e.Series != nil {
			count = e.Series.Count
		}
		for range count {
			reasons = append(reasons, e.Reason)
		}
	}
	slices.Sort(reasons)
	return reasons
}

func sameEvents(got, want []string) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("events %v, want %v", got, want)
	}
	return nil
}

// traceOf is the trace of the newest boot of a claim, as `farrier timeline` shows it.
func (p *running) traceOf(t *testing.T, server string) (trace string) {
	t.Helper()
	stdout, stderr, code := product.Ask(t, product.Farrier, "timeline", "--kubeconfig", p.Kubeconfig, "-o", "json", server)
	var shown struct {
		Entries []struct{ Trace, Object string }
	}
	if code != 0 || json.Unmarshal([]byte(stdout), &shown) != nil {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, e := range shown.Entries {
		if e.Trace != "" && strings.HasSuffix(e.Object, " default/web") {
			trace = e.Trace
		}
	}
	if trace == "" {
		t.Fatalf("the timeline shows no trace: %s", stdout)
	}
	return trace
}
