package trouble

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/diagnosis/faults"
)

// told collects events.
type told []string

func (l *told) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	*l = append(*l, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

// TestSay: the condition comes, changes and goes with the sentence; an event tells when there is another cause, and when all is over.
func TestSay(t *testing.T) {
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "node-7", Generation: 3}}
	conditions, now := &server.Status.Conditions, faults.Noon
	say := func(wrong *Sentence, events ...string) {
		t.Helper()
		before := server.DeepCopy()
		now = now.Add(time.Minute)
		var got told
		Say(server, conditions, wrong, now).Tell(&got, server)
		if diff := cmp.Diff(events, []string(got)); diff != "" {
			t.Errorf("events (-want +got)\n%s", diff)
		}
		if said := SaidBy(*conditions); !cmp.Equal(said, wrong) {
			t.Errorf("it says %v, want %v", said, wrong)
		}
		if changed := !cmp.Equal(SaidBy(before.Status.Conditions), wrong); changed != Differ(before.Status.Conditions, *conditions) {
			t.Errorf("that it differs is %v", !changed)
		}
	}
	since := func() time.Time {
		return apimeta.FindStatusCondition(*conditions, metalv1.ConditionTroubled).LastTransitionTime.Time
	}
	say(nil)
	say(&Sentence{"A", "a is wrong"}, "Warning Troubled: a is wrong")
	began := since()
	say(&Sentence{"A", "a is wrong"})
	say(&Sentence{"A", "a is wrong, too"})
	if !since().Equal(began) {
		t.Error("the same cause in other words has another beginning")
	}
	say(&Sentence{"B", "b is wrong"}, "Warning Troubled: b is wrong")
	if c := apimeta.FindStatusCondition(*conditions, metalv1.ConditionTroubled); !since().Equal(now) || c.ObservedGeneration != 3 || c.Status != metav1.ConditionTrue {
		t.Errorf("another cause: %v", c)
	}
	say(nil, "Normal TroubleOver: No longer: b is wrong")
	say(nil)
}

// TestAnObjectWithoutProgressKeepsWhatItSays: to say more would be another write.
func TestAnObjectWithoutProgressKeepsWhatItSays(t *testing.T) {
	server := &metalv1.Server{}
	conditions := &server.Status.Conditions
	Say(server, conditions, &Sentence{"A", "a is wrong"}, faults.Noon)
	apimeta.SetStatusCondition(conditions, metav1.Condition{Type: metalv1.ConditionStalled, Status: metav1.ConditionTrue, Reason: metalv1.ReasonNoProgress})
	for _, wrong := range []*Sentence{nil, {"B", "b is wrong"}} {
		if news := Say(server, conditions, wrong, faults.Noon); news != (News{}) || SaidBy(*conditions).Reason != "A" {
			t.Errorf("it says %v, news %v", SaidBy(*conditions), news)
		}
	}
}

// TestASentenceChangesOnlyWithWhatIsWrong: it is the cause and the next step of each fault, and an hour later it is the same.
func TestASentenceChangesOnlyWithWhatIsWrong(t *testing.T) {
	for name, fault := range faults.All {
		if fault.Facts.Server == nil && fault.Facts.Claim == nil || fault.Standing != diagnosis.Trouble {
			continue
		}
		t.Run(name, func(t *testing.T) {
			answer := diagnosis.Wrong(fault.Facts)
			s := Of(answer)
			if s == nil || s.Reason != fault.Reason || s.Text != answer.Cause+" Next: "+answer.Next {
				t.Fatalf("%v, want that of %+v", s, answer)
			}
			later := *fault.Facts
			later.Now = later.Now.Add(time.Hour)
			if then := Of(diagnosis.Wrong(&later)); !cmp.Equal(s, then) {
				t.Errorf("an hour later it is %v, it was %v", then, s)
			}
		})
	}
}

// TestALongSentenceIsCut: at a character.
func TestALongSentenceIsCut(t *testing.T) {
	s := Of(&diagnosis.Answer{Reason: "A", Cause: strings.Repeat("ä", maxText)})
	if len(s.Text) > maxText+len("…") || !strings.HasSuffix(s.Text, "ä…") {
		t.Errorf("%d bytes, ending with %q", len(s.Text), s.Text[len(s.Text)-8:])
	}
	if Of(nil) != nil || SaidBy(nil) != nil || Differ(nil, nil) {
		t.Error("nothing says something")
	}
}
