package events

import (
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestANoteIsCutToWhatTheAPIAccepts(t *testing.T) {
	for _, note := range []string{"", "short", strings.Repeat("x", maxNote), strings.Repeat("x", maxNote+1), "a" + strings.Repeat("ö", maxNote)} {
		got := cut(note)
		if len(got) > maxNote || !utf8.ValidString(got) {
			t.Errorf("%d bytes became %d: %q", len(note), len(got), got)
		}
		if len(note) <= maxNote && got != note || len(note) > maxNote && !strings.HasSuffix(got, "…") {
			t.Errorf("%q became %q", note, got)
		}
	}
	Send(nil, nil, nil, "", "", "without a recorder nothing happens")
}

func TestAConditionDiffersWhenItSaysSomethingElse(t *testing.T) {
	is := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", Message: "m", ObservedGeneration: 1}
	same, status, reason, message := is, is, is, is
	same.ObservedGeneration, same.LastTransitionTime = 2, metav1.Now()
	status.Status, reason.Reason, message.Message = metav1.ConditionFalse, "Other", "other"
	for name, c := range map[string]struct {
		was  *metav1.Condition
		want bool
	}{"same": {&same, false}, "status": {&status, true}, "reason": {&reason, true}, "message": {&message, true}, "new": {nil, true}} {
		if got := Differ(c.was, &is); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Differ(nil, nil) || !Differ(&is, nil) {
		t.Error("nothing is not told from something")
	}
}
