package events

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
)

// tally counts events by type.
type tally map[string]int

func (c tally) Eventf(_, _ runtime.Object, kind, _, _, _ string, _ ...any) { c[kind]++ }

// TestEventsHaveABudget: however many there are, a bounded number is written, and warnings have room of their own. All recorders share it.
func TestEventsHaveABudget(t *testing.T) {
	counts.Reset()
	t.Cleanup(counts.Reset)
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	got, b := tally{}, NewBudget(clock)
	for i := range 10 * burst {
		Send([]interface {
			Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any)
		}{b.Recorder(got), b.Recorder(got)}[i%2], nil, nil, corev1.EventTypeNormal, "Reason", "note")
	}
	if got[corev1.EventTypeNormal] != burst {
		t.Errorf("%d events at once, want %d", got[corev1.EventTypeNormal], burst)
	}
	Send(b.Recorder(got), nil, nil, corev1.EventTypeWarning, "Reason", "note")
	if got[corev1.EventTypeWarning] != 1 {
		t.Error("a warning had no room beside what goes well")
	}
	clock.Step(10 * time.Second)
	for range burst {
		Send(b.Recorder(got), nil, nil, corev1.EventTypeNormal, "Reason", "note")
	}
	if n := got[corev1.EventTypeNormal] - burst; n != 10*perSecond {
		t.Errorf("%d events in ten seconds, want %d", n, 10*perSecond)
	}
	want := float64(10*burst - 10*perSecond)
	if n := testutil.ToFloat64(counts.WithLabelValues(corev1.EventTypeNormal, dropped)); n != want {
		t.Errorf("%g were counted as dropped, want %g", n, want)
	}
}
