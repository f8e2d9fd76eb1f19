package probeboot

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestWhatBecameOfARequest: it waits, it is being done, or its probe has reported; what cannot be read is nothing.
func TestWhatBecameOfARequest(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	begun := &Boot{ID: "a", Begun: noon, Before: "first"}
	done := &Boot{ID: "a", Begun: noon, Before: "first", Reported: noon.Add(time.Minute)}
	for name, tt := range map[string]struct {
		asked, booted                 string
		unanswered, pending, reported bool
	}{
		"nobody asks":            {},
		"asked":                  {asked: "a", unanswered: true},
		"begun":                  {asked: "a", booted: begun.String(), unanswered: true, pending: true},
		"begun, no longer asked": {booted: begun.String(), unanswered: true, pending: true},
		"reported":               {asked: "a", booted: done.String(), reported: true},
		"asked once more":        {asked: "b", booted: done.String(), unanswered: true, reported: true},
		"no JSON":                {asked: "a", booted: "yes", unanswered: true},
		"of no time":             {asked: "a", booted: `{"id":"a","before":"first"}`, unanswered: true},
		"of no attempt":          {asked: "a", booted: `{"id":"a","begun":"2026-01-01T12:00:00Z"}`, unanswered: true},
	} {
		server := &metav1.ObjectMeta{Annotations: map[string]string{}}
		for key, value := range map[string]string{metalv1.AnnotationProbeBoot: tt.asked, metalv1.AnnotationProbeBooted: tt.booted} {
			if value != "" {
				server.Annotations[key] = value
			}
		}
		if got := Unanswered(server); got != tt.unanswered {
			t.Errorf("%s: unanswered %v, want %v", name, got, tt.unanswered)
		}
		if got := Of(server).Pending(); got != tt.pending {
			t.Errorf("%s: pending %v, want %v", name, got, tt.pending)
		}
		if got := Reported(server, "a"); got != tt.reported {
			t.Errorf("%s: reported %v, want %v", name, got, tt.reported)
		}
	}
	if got := Of(&metav1.ObjectMeta{Annotations: map[string]string{metalv1.AnnotationProbeBooted: done.String()}}); *got != *done {
		t.Errorf("read back %+v", got)
	}
}
