package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
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
