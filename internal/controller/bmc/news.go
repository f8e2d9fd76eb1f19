package bmc

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// maxNote is how long the text of an event may be (k8s.io/kubernetes, pkg/apis/core/validation, noteLengthLimit), less the mark of what was cut off.
const maxNote = 1024 - len("…")

func (r *Reconciler) event(obj *metalv1.BMC, kind, reason, message string) {
	if len(message) > maxNote {
		message = strings.ToValidUTF8(message[:maxNote], "") + "…"
	}
	r.Recorder.Eventf(obj, nil, kind, reason, reason, "%s", message)
}

// warnings are the conditions that people are told of when they become False.
var warnings = []struct{ condition, event string }{
	{metalv1.ConditionSecure, "InsecureConnection"},
	{metalv1.ConditionIdentity, "IdentityDiffers"},
	{metalv1.ConditionCredentialsUsed, "CredentialsNotUsed"},
}

// tell makes events of what a status says anew and people should know.
func (r *Reconciler) tell(before, now *metalv1.BMC) {
	r.tellReady(before, now)
	for _, warning := range warnings {
		was := apimeta.FindStatusCondition(before.Status.Conditions, warning.condition)
		is := apimeta.FindStatusCondition(now.Status.Conditions, warning.condition)
		if is != nil && is.Status == metav1.ConditionFalse && (was == nil || was.Reason != is.Reason) && is.Reason != metalv1.ReasonUntrusted {
			r.event(now, corev1.EventTypeWarning, warning.event, is.Message)
		}
	}
	was := apimeta.FindStatusCondition(before.Status.Conditions, metalv1.ConditionDegraded)
	is := apimeta.FindStatusCondition(now.Status.Conditions, metalv1.ConditionDegraded)
	if is != nil && is.Reason == metalv1.ReasonServerRefused && (was == nil || was.Reason != is.Reason) {
		r.event(now, corev1.EventTypeWarning, is.Reason, is.Message)
	}
}

// tellReady tells of a BMC that cannot be used any longer, or not for the same reason, and of one that can be again. The event has the reason of the
// condition.
func (r *Reconciler) tellReady(before, now *metalv1.BMC) {
	var was metav1.Condition
	if c := apimeta.FindStatusCondition(before.Status.Conditions, metalv1.ConditionReady); c != nil {
		was = *c
	}
	is := apimeta.FindStatusCondition(now.Status.Conditions, metalv1.ConditionReady)
	switch {
	case is == nil:
	case is.Status == metav1.ConditionFalse && fails(before.Status.State, was, *is):
		r.event(now, corev1.EventTypeWarning, is.Reason, is.Message)
		r.Logger.Info("BMC cannot be used", "bmc", now.Name, "reason", is.Reason, "message", is.Message)
	case is.Status == metav1.ConditionTrue && before.Status.State == metalv1.BMCStateError:
		r.event(now, corev1.EventTypeNormal, is.Reason, "The BMC can be used again")
		r.Logger.Info("BMC can be used again", "bmc", now.Name)
	}
}

// fails reports whether a failure is news. That nothing was known after a start in between makes it none, but for those of trust: somebody else may
// have come to the BMC's address meanwhile.
func fails(state metalv1.BMCState, was, is metav1.Condition) bool {
	trust := is.Reason == metalv1.ReasonUntrusted || is.Reason == metalv1.ReasonDowngraded
	return state != metalv1.BMCStateError || was.Reason != is.Reason && (was.Status == metav1.ConditionFalse || trust)
}
