package rolloutpermit

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func annotated(pairs ...string) *metav1.ObjectMeta {
	m := &metav1.ObjectMeta{Generation: 3}
	for i := 0; i < len(pairs); i += 2 {
		metav1.SetMetaDataAnnotation(m, pairs[i], pairs[i+1])
	}
	return m
}

// TestWhoWaits: who goes by a policy and has no permit that is open, or none that can be read.
func TestWhoWaits(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	open, closed := &Permit{Begun: noon}, &Permit{Begun: noon, Ended: noon.Add(time.Hour), Failure: "TaskFailed"}
	for name, tt := range map[string]struct {
		obj   *metav1.ObjectMeta
		waits string
	}{
		"no policy":    {annotated(), ""},
		"no permit":    {annotated(metalv1.AnnotationRolloutPolicy, "p"), "p"},
		"open":         {annotated(metalv1.AnnotationRolloutPolicy, "p", metalv1.AnnotationRolloutPermit, open.text()), ""},
		"closed":       {annotated(metalv1.AnnotationRolloutPolicy, "p", metalv1.AnnotationRolloutPermit, closed.text()), "p"},
		"no JSON":      {annotated(metalv1.AnnotationRolloutPolicy, "p", metalv1.AnnotationRolloutPermit, "yes"), "p"},
		"of no time":   {annotated(metalv1.AnnotationRolloutPolicy, "p", metalv1.AnnotationRolloutPermit, "{}"), "p"},
		"only permits": {annotated(metalv1.AnnotationRolloutPermit, closed.text()), ""},
	} {
		if got := Waits(tt.obj); got != tt.waits {
			t.Errorf("%s: waits for %q, want %q", name, got, tt.waits)
		}
	}
	obj := annotated(metalv1.AnnotationRolloutPolicy, "p")
	before := obj.GetAnnotations()
	if Set(obj, closed); *Of(obj) != *closed || len(before) != 1 {
		t.Errorf("read back %+v; before %v", Of(obj), before)
	}
	if Set(obj, nil); Of(obj) != nil {
		t.Errorf("taken away: %+v", Of(obj))
	}
}

func TestPolicyOf(t *testing.T) {
	for _, tt := range []struct {
		says     string
		defaults bool
		want     string
	}{{"", false, ""}, {"", true, farrierv1.DefaultRolloutPolicy}, {"p", true, "p"}, {NoPolicy, true, ""}, {NoPolicy, false, ""}} {
		if got := PolicyOf(annotated(metalv1.AnnotationRolloutPolicy, tt.says), tt.defaults); got != tt.want {
			t.Errorf("%q, with a default %v: %q, want %q", tt.says, tt.defaults, got, tt.want)
		}
	}
}

// TestAcceptedFailures count for the spec that they were of.
func TestAcceptedFailures(t *testing.T) {
	for says, want := range map[string]int{"": 0, "2": 0, "2@3": 2, "2@4": 0, "@3": 0, "-1@3": 0, "two@3": 0, Accept(annotated(), 5): 5} {
		if got := AcceptedFailures(annotated(metalv1.AnnotationFailuresAccepted, says)); got != want {
			t.Errorf("%q: %d, want %d", says, got, want)
		}
	}
}
