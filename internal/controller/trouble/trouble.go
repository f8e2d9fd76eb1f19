package trouble

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	controllerevents "github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/diagnosis"
)

// maxText bounds a sentence: it quotes what BMCs and registries have said.
const maxText = 2048

// Sentence is what an object says of its trouble, with the typed cause.
type Sentence struct{ Reason, Text string }

// Of is the sentence of an answer; nil: nothing is wrong. It holds no time: how long something has been wrong is the age of the condition, and a
// sentence that changes by itself would be a write each time.
func Of(wrong *diagnosis.Answer) *Sentence {
	if wrong == nil {
		return nil
	}
	text := wrong.Cause + " Next: " + wrong.Next
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return &Sentence{wrong.Reason, text}
}

// SaidBy is the sentence that an object says; nil: it says none.
func SaidBy(conditions []metav1.Condition) *Sentence {
	c := apimeta.FindStatusCondition(conditions, metalv1.ConditionTroubled)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	return &Sentence{c.Reason, c.Message}
}

// Differ reports whether an object says something else than before.
func Differ(before, now []metav1.Condition) bool {
	return controllerevents.Differ(apimeta.FindStatusCondition(before, metalv1.ConditionTroubled), apimeta.FindStatusCondition(now, metalv1.ConditionTroubled))
}

// News is what Say has changed, as far as it is worth an event. Its zero value is none.
type News struct{ begins, over *Sentence }

// Say has the conditions of obj say what is wrong; nil: nothing is. An object that Farrier writes less often, because it makes no progress, keeps what
// it says: this would be one more write.
func Say(obj client.Object, conditions *[]metav1.Condition, wrong *Sentence, now time.Time) News {
	old := SaidBy(*conditions)
	switch {
	case apimeta.IsStatusConditionTrue(*conditions, metalv1.ConditionStalled):
		return News{}
	case wrong == nil:
		apimeta.RemoveStatusCondition(conditions, metalv1.ConditionTroubled)
		return News{over: old}
	}
	begins := old == nil || old.Reason != wrong.Reason
	if begins { // its age is that of the cause
		apimeta.RemoveStatusCondition(conditions, metalv1.ConditionTroubled)
	}
	apimeta.SetStatusCondition(conditions, metav1.Condition{
		Type: metalv1.ConditionTroubled, Status: metav1.ConditionTrue, Reason: wrong.Reason, Message: wrong.Text,
		ObservedGeneration: obj.GetGeneration(), LastTransitionTime: metav1.NewTime(now),
	})
	if !begins {
		return News{}
	}
	return News{begins: wrong}
}

// eventOver is the reason of the event that nothing is wrong any more.
const eventOver = "TroubleOver"

// Tell makes an event of the news.
func (n News) Tell(recorder events.EventRecorder, about runtime.Object) {
	switch {
	case n.begins != nil:
		controllerevents.Send(recorder, about, nil, corev1.EventTypeWarning, metalv1.ConditionTroubled, n.begins.Text)
	case n.over != nil:
		controllerevents.Send(recorder, about, nil, corev1.EventTypeNormal, eventOver, "No longer: "+n.over.Text)
	}
}
