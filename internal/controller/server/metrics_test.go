package server

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestStaysAndTransitions: what a server has left counts once, and how long it was there if this process saw it coming.
func TestStaysAndTransitions(t *testing.T) {
	changes.Reset()
	stays.Reset()
	t.Cleanup(changes.Reset)
	t.Cleanup(stays.Reset)
	var c census
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		state metalv1.ServerState
		after time.Duration
	}{
		{metalv1.ServerStateAvailable, 0}, // as it was found: nobody knows since when
		{metalv1.ServerStateAvailable, time.Minute},
		{metalv1.ServerStateReserved, 10 * time.Minute},
		{metalv1.ServerStateReserved, 11 * time.Minute},
		{metalv1.ServerStateCleanup, 12 * time.Minute},
		{metalv1.ServerStateAvailable, 15 * time.Minute},
	} {
		c.note("s", step.state, false, start.Add(step.after))
	}
	want := `
# HELP farrier_server_transitions_total Servers that went from one state to another.
# TYPE farrier_server_transitions_total counter
farrier_server_transitions_total{from="Available",to="Reserved"} 1
farrier_server_transitions_total{from="Cleanup",to="Available"} 1
farrier_server_transitions_total{from="Reserved",to="Cleanup"} 1
`
	if err := testutil.CollectAndCompare(changes, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if got := testutil.CollectAndCount(stays); got != 2 {
		t.Errorf("durations of %d states, want those of Reserved and Cleanup", got)
	}
	for state, want := range map[metalv1.ServerState]float64{metalv1.ServerStateReserved: 120, metalv1.ServerStateCleanup: 180} {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(stays)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range families[0].GetMetric() {
			if m.GetLabel()[0].GetValue() == string(state) && m.GetHistogram().GetSampleSum() != want {
				t.Errorf("%s: %g s, want %g", state, m.GetHistogram().GetSampleSum(), want)
			}
		}
	}
	// One that is gone and found again was not on its way.
	c.forget("s")
	c.note("s", metalv1.ServerStateError, false, start.Add(time.Hour))
	if got := testutil.CollectAndCount(changes); got != 3 {
		t.Errorf("%d transitions, want 3", got)
	}
}
