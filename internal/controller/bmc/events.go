package bmc

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/events"
)

func (r *Reconciler) event(obj *metalv1.BMC, kind, reason, message string) {
	events.Send(r.Recorder, obj, nil, kind, reason, message)
}

// warnings are the conditions whose change to False is an event.
var warnings = []string{metalv1.ConditionSecure, metalv1.ConditionIdentity, metalv1.ConditionCredentialsUsed}

// recordEvents records events for changes of a status that people should know.
func (r *Reconciler) recordEvents(ctx context.Context, before, now *metalv1.BMC) {
	r.recordReady(ctx, before, now)
	for _, warning := range warnings {
		was := apimeta.FindStatusCondition(before.Status.Conditions, warning)
		is := apimeta.FindStatusCondition(now.Status.Conditions, warning)
		if is != nil && is.Status == metav1.ConditionFalse && (was == nil || was.Reason != is.Reason) && is.Reason != metalv1.ReasonUntrusted {
			r.event(now, corev1.EventTypeWarning, is.Reason, is.Message)
		}
	}
	was := apimeta.FindStatusCondition(before.Status.Conditions, metalv1.ConditionDegraded)
	is := apimeta.FindStatusCondition(now.Status.Conditions, metalv1.ConditionDegraded)
	if is != nil && is.Reason == metalv1.ReasonServerRefused && (was == nil || was.Reason != is.Reason) {
		r.event(now, corev1.EventTypeWarning, is.Reason, is.Message)
	}
}

// recordReady records an event and a log line for a BMC that has failed, or fails for another reason, and for one that works again. The event has the
// reason of the condition.
func (r *Reconciler) recordReady(ctx context.Context, before, now *metalv1.BMC) {
	var was metav1.Condition
	if c := apimeta.FindStatusCondition(before.Status.Conditions, metalv1.ConditionReady); c != nil {
		was = *c
	}
	is := apimeta.FindStatusCondition(now.Status.Conditions, metalv1.ConditionReady)
	switch {
	case is == nil:
	case is.Status == metav1.ConditionFalse && fails(before.Status.State, was, *is):
		r.event(now, corev1.EventTypeWarning, is.Reason, is.Message)
		log.FromContext(ctx).Info("BMC failed", "reason", is.Reason, "message", is.Message)
	case is.Status == metav1.ConditionTrue && before.Status.State == metalv1.BMCStateError:
		r.event(now, corev1.EventTypeNormal, is.Reason, "The BMC answers again")
		log.FromContext(ctx).Info("BMC works again")
	}
}

// fails reports whether a failure is new. A failure that was known before a restart is not, except for those of trust: somebody else may
// have taken the BMC's address meanwhile.
func fails(state metalv1.BMCState, was, is metav1.Condition) bool {
	trust := is.Reason == metalv1.ReasonUntrusted || is.Reason == metalv1.ReasonDowngraded
	return state != metalv1.BMCStateError || was.Reason != is.Reason && (was.Status == metav1.ConditionFalse || trust)
}
