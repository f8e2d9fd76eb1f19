package scenario

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func condition(kind string, status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message}}
}

func newServer(state metalv1.ServerState, power metalv1.PowerState) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "sim-0001-system-0"}}
	s.Spec.SystemUUID = "uuid-1"
	s.Status.State, s.Status.PowerState, s.Status.Model = state, power, "FX"
	return s
}

func TestJournal(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	w := NewWorld(clock)
	observe := func(s *metalv1.Server) {
		clock.Step(time.Second)
		w.Observe(s)
	}
	observe(newServer("", "")) // created, and nothing said yet
	observe(newServer(metalv1.ServerStateInitial, metalv1.PowerStateOff))
	observe(newServer(metalv1.ServerStateInitial, metalv1.PowerStateOff))
	claimed := newServer(metalv1.ServerStateReserved, metalv1.PowerStateOn)
	claimed.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "default", Name: "demo-1"}
	observe(claimed)
	w.Step("machines booted")
	w.Forget(claimed)

	var lines []string
	for _, tr := range w.Transitions(0) {
		line := tr.Line(noon)
		if tr.Quiet {
			line += " (quiet)"
		}
		lines = append(lines, line)
	}
	want := []string{
		"    2.0s  sim-0001-system-0  Initial",
		"    2.0s  sim-0001-system-0  power Off (quiet)",
		"    4.0s  sim-0001-system-0  Initial → Reserved",
		"    4.0s  sim-0001-system-0  power Off → On",
		"    4.0s  step  machines booted",
		"    4.0s  sim-0001-system-0  Reserved → deleted",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	if rest := w.Transitions(5); len(rest) != 1 || rest[0].To != gone {
		t.Errorf("after five: %v, want the last", rest)
	}
	w.Look(func(s *State) {
		if s.server("uuid-1") != nil {
			t.Error("the deleted server is still there")
		}
		reserved := track{kindServer, "sim-0001-system-0"}
		if at := s.first(reserved, "Reserved", noon); !at.Equal(noon.Add(4 * time.Second)) {
			t.Errorf("Reserved at %s, want 4 s after noon", at)
		}
		if at := s.first(reserved, "Reserved", noon.Add(time.Minute)); !at.IsZero() {
			t.Errorf("Reserved a minute later at %s, want never", at)
		}
	})
}

func TestChangedIsClosedAtTheNextEntry(t *testing.T) {
	w := NewWorld(clocktesting.NewFakeClock(noon))
	changed := w.Changed()
	w.Observe(newServer("", ""))
	select {
	case <-changed:
		t.Error("closed, and nothing was written into the journal")
	default:
	}
	w.Observe(newServer(metalv1.ServerStateInitial, ""))
	select {
	case <-changed:
	default:
		t.Error("not closed by an entry")
	}
}

func TestInternalBootConfigurationsAreQuiet(t *testing.T) {
	w := NewWorld(clocktesting.NewFakeClock(noon))
	config := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{
		Namespace: "farrier-system", Name: "sim-0001-system-0", Annotations: map[string]string{metalv1.AnnotationType: metalv1.TypeInternal},
	}}
	config.Status.State = metalv1.ServerBootConfigurationStateReady
	w.Observe(config)
	if got := w.Transitions(0); len(got) != 1 || !got[0].Quiet {
		t.Errorf("journal %v, want one quiet entry", got)
	}
}
