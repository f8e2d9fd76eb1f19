package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpolicy"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// TestRolloutsInTheTerminal: a table, harmless whatever is in the objects, and what to do where there is none.
func TestRolloutsInTheTerminal(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	since := metav1.NewTime(now.Add(-90 * time.Second))
	var out bytes.Buffer
	if err := printRollouts(&out, []listedRollout{{"careful", farrierv1.Rollout{
		Kind: "BIOSVersionSet", Name: "bios", Wave: 2, Waves: 3, Targets: 100, Waiting: 90, InProgress: 8, Completed: 2, Reason: "InProgress", Message: "8 of\x1b[2J the wave", Since: &since,
	}}}, now); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 3 || strings.Join(strings.Fields(lines[1]), " ") != "biosversionset/bios careful 2 of 3 100 90 8 2 0 1m30s InProgress: 8 of?[2J the wave" && strings.Contains(out.String(), "\x1b") {
		t.Errorf("table:\n%q", out.String())
	}
	out.Reset()
	if err := printRollouts(&out, nil, now); err != nil || !strings.Contains(out.String(), "farrier.dev/rollout-policy") {
		t.Errorf("none: %q, %v", out.String(), err)
	}
}

// TestThePlanInTheTerminal: waves with what stands in them, in order.
func TestThePlanInTheTerminal(t *testing.T) {
	says := rollout.Policy{Fleet: rollout.Count(1), Waves: []rollout.Wave{{UpTo: rollout.Count(1), Bake: time.Hour}}, Failures: rollout.Count(2)}
	facts := &rollout.Facts{
		Machines: []rollout.Machine{{Name: "a", Zone: "z", Rack: "r"}, {Name: "b"}, {Name: "c"}},
		Items: []rollout.Item{
			{ID: "a", Machines: []string{"a"}, Stand: rollout.Failed, Class: "TaskFailed"}, {ID: "b", Machines: []string{"b"}}, {ID: "c", Machines: []string{"c"}},
		},
	}
	steps, decision := rollout.Plan(says, facts)
	p := rolloutpolicy.Planned{Kind: "BIOSVersionSet", Name: "bios", Policy: "careful", Says: says, Decision: decision, Already: 4}
	for _, step := range steps {
		p.Targets = append(p.Targets, rolloutpolicy.PlannedTarget{Step: step, Name: step.Item.ID, Places: map[string][]string{"a": {"z/r"}, "b": {"/"}, "c": {"/r2"}}[step.Item.ID]})
	}
	var out bytes.Buffer
	if err := printPlans(&out, []rolloutpolicy.Planned{p}, ""); err != nil {
		t.Fatal(err)
	}
	want := `biosversionset/bios goes by RolloutPolicy careful: 3 targets to change, 4 have it already.
Nothing begins now: Baking: wave 2 may begin 0001-01-01T01:00:00Z
Wave 1: up to 1, then nothing for 1h
  a  z/r  failed: TaskFailed
Wave 2: the rest
  b  -   waits
  c  r2  waits
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	if err := printPlans(&out, nil, "BIOSVersionSet/other"); err != nil || !strings.HasPrefix(out.String(), "BIOSVersionSet/other goes by no RolloutPolicy") {
		t.Errorf("without a policy: %q, %v", out.String(), err)
	}
}
