package bootattempt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func stored(text string) *metalv1.ServerBootConfiguration {
	config := &metalv1.ServerBootConfiguration{}
	config.Annotations = map[string]string{metalv1.AnnotationBootAttempt: text}
	return config
}

func TestAnAttemptIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := func(name string) *time.Time {
			if !rapid.Bool().Draw(t, name) {
				return nil
			}
			at := noon.Add(time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, name+" at")))
			return &at
		}
		want := &Attempt{
			ID: rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "id"), Number: rapid.IntRange(1, 99).Draw(t, "number"),
			Ordered: moment("ordered"), Off: moment("off"), Started: moment("started"),
		}
		if diff := cmp.Diff(want, Of(stored(want.String()))); diff != "" {
			t.Errorf("(-written +read)\n%s", diff)
		}
	})
}

// TestWhatCannotBeReadIsNoAttempt: a person may have written it. The next boot begins a new one.
func TestWhatCannotBeReadIsNoAttempt(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", `{"id":""}`, `{"number":3}`, `{"id":"a","ordered":"noon"}`} {
		if a := Of(stored(text)); a != nil {
			t.Errorf("%q is read as %v", text, a)
		}
	}
	if Of(nil) != nil || Of(&metalv1.ServerBootConfiguration{}) != nil {
		t.Error("there is an attempt where none was written")
	}
}

func TestOneAttemptFollowsAnother(t *testing.T) {
	var none *Attempt
	if none.Open() {
		t.Error("none is open")
	}
	first := none.Next("a", noon)
	if first.ID != "a" || first.Number != 1 || !first.Open() {
		t.Errorf("the first is %v", first)
	}
	second := first.SeenOff(noon).SeenOn(noon).Next("b", noon)
	if second.ID != "b" || second.Number != 2 || second.Off != nil || second.Started != nil {
		t.Errorf("the second is %v", second)
	}
	if first.Off != nil {
		t.Error("a step changes the attempt that it follows from")
	}
	prepared := &Attempt{ID: "p", Number: 1}
	if prepared.Open() {
		t.Error("what is prepared is not open yet: its token must not be given away")
	}
	if ordered := prepared.Next("new", noon); ordered.ID != "p" || ordered.Number != 1 || !ordered.Open() {
		t.Errorf("ordering what is prepared must keep its ID: %v", ordered)
	}
}

// TestAConditionConcernsTheAttemptThatIsNamed: a version without the field named none, and what had turned true since the order was of it.
func TestAConditionConcernsTheAttemptThatIsNamed(t *testing.T) {
	a := (*Attempt)(nil).Next("a", noon)
	is := func(status metav1.ConditionStatus, since time.Duration) *metav1.Condition {
		return &metav1.Condition{Status: status, LastTransitionTime: metav1.NewTime(noon.Add(since).Truncate(time.Second))}
	}
	for name, c := range map[string]struct {
		attempt   *Attempt
		named     string
		condition *metav1.Condition
		want      bool
	}{
		"named":                            {a, "a", is(metav1.ConditionTrue, -time.Hour), true},
		"another is named":                 {a, "b", is(metav1.ConditionTrue, time.Hour), false},
		"false":                            {a, "a", is(metav1.ConditionFalse, time.Hour), false},
		"there is no condition":            {a, "a", nil, false},
		"there is no attempt":              {nil, "", is(metav1.ConditionTrue, time.Hour), false},
		"none named, true since the order": {a, "", is(metav1.ConditionTrue, 0), true},
		"none named, true before":          {a, "", is(metav1.ConditionTrue, -time.Second), false},
		"none named, not ordered":          {&Attempt{ID: "a"}, "", is(metav1.ConditionTrue, time.Hour), false},
	} {
		if got := c.attempt.Concerns(c.named, c.condition); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
