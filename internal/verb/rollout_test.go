package verb

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func biosSet(t *testing.T) RolloutSet {
	t.Helper()
	set := &metalv1.BIOSVersionSet{ObjectMeta: metav1.ObjectMeta{Name: "bios", Generation: 7}}
	api := fakeAPI(t, set)
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatal(err)
	}
	return RolloutSet{API: api, Object: set, Kind: "BIOSVersionSet"}
}

// TestARolloutIsSteered by annotations of its Set, which kubectl sets as well.
func TestARolloutIsSteered(t *testing.T) {
	for _, tt := range []struct {
		name           string
		orders         func(RolloutSet) []Order
		failed         int
		kubectl        string
		word, accepted string
	}{
		{"pause", func(s RolloutSet) []Order { return HoldRollout(s, metalv1.RolloutPaused) }, 0, "kubectl annotate biosversionset bios --overwrite farrier.dev/rollout=paused", "paused", ""},
		{"abort", func(s RolloutSet) []Order { return HoldRollout(s, metalv1.RolloutAborted) }, 2, "kubectl annotate biosversionset bios --overwrite farrier.dev/rollout=aborted", "aborted", ""},
		{"resume", ResumeRollout, 0, "kubectl annotate biosversionset bios --overwrite farrier.dev/rollout-", "", ""},
		{"resume after failures", ResumeRollout, 2, "kubectl annotate biosversionset bios --overwrite farrier.dev/rollout- farrier.dev/failures-accepted=2@7", "", "2@7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := biosSet(t)
			s.Failed = tt.failed
			orders := tt.orders(s)
			if len(orders) != 1 || strings.Join(orders[0].Kubectl, "\n") != tt.kubectl {
				t.Errorf("kubectl %q, want %q", orders[0].Kubectl, tt.kubectl)
			}
			if err := orders[0].Write(t.Context()); err != nil {
				t.Fatal(err)
			}
			var now metalv1.BIOSVersionSet
			if err := s.API.Get(t.Context(), client.ObjectKey{Name: "bios"}, &now); err != nil {
				t.Fatal(err)
			}
			if now.Annotations[metalv1.AnnotationRollout] != tt.word || now.Annotations[metalv1.AnnotationFailuresAccepted] != tt.accepted {
				t.Errorf("annotations %v", now.Annotations)
			}
		})
	}
}

// TestARolloutIsWaitedFor: what was told before the Set became what it is now counts for nothing.
func TestARolloutIsWaitedFor(t *testing.T) {
	told := func(reason string, generation int64, hold string, inProgress int32) farrierv1.Rollout {
		return farrierv1.Rollout{Reason: reason, ObservedGeneration: generation, Hold: hold, InProgress: inProgress, Targets: 3, Completed: 1, Failed: 2, Message: "so it is"}
	}
	for name, tt := range map[string]struct {
		tells []farrierv1.Rollout
		out   string
		err   string
	}{
		"done":             {[]farrierv1.Rollout{told("Completed", 7, "", 0)}, "biosversionset/bios is done: all 3 targets", ""},
		"earlier template": {[]farrierv1.Rollout{told("Completed", 6, "", 0), told("InProgress", 7, "", 1), told("Completed", 7, "", 0)}, "is done", ""},
		"paused before":    {[]farrierv1.Rollout{told("Paused", 7, "paused", 0), told("Completed", 7, "", 0)}, "is done", ""},
		"failures":         {[]farrierv1.Rollout{told("CompletedWithFailures", 7, "", 0)}, "", "is over: 1 are done, 2 have failed"},
		"limit":            {[]farrierv1.Rollout{told("FailureLimitReached", 7, "", 1), told("FailureLimitReached", 7, "", 0)}, "", "does not go on: FailureLimitReached: so it is"},
		"gate":             {[]farrierv1.Rollout{told("WaitingForGate", 7, "", 1), told("GateNotPassed", 7, "", 0)}, "", "does not go on: GateNotPassed: so it is"},
		"policy paused":    {[]farrierv1.Rollout{told("Paused", 7, "", 0)}, "", "does not go on: Paused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := biosSet(t)
			at := 0
			clock := clocktesting.NewFakeClock(time.Unix(0, 0))
			s.Read = func(context.Context) (*farrierv1.Rollout, error) {
				r := tt.tells[min(at, len(tt.tells)-1)]
				at++
				return &r, nil
			}
			var out, progress bytes.Buffer
			runner := Runner{Out: &out, Progress: &progress, Timeout: time.Hour, Clock: stepping{clock}}
			err := runner.Run(t.Context(), AwaitRollout(s)...)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("%v, want %q", err, tt.err)
			}
			if !strings.Contains(out.String(), tt.out) {
				t.Errorf("it says %q, want %q", out.String(), tt.out)
			}
		})
	}
}
