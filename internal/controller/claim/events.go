package claim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/events"
)

// Reasons of conditions and events about the boot of a claim beside those that the API names.
const (
	reasonNotBound    = "NotBound"
	reasonBootPending = "BootConfigurationPending"
	reasonBootReady   = "BootConfigurationReady"
	reasonBootError   = "BootConfigurationError"
	reasonBootTaken   = "BootConfigurationTaken"
)

// event makes an event of an object.
func (r *Reconciler) event(about, related runtime.Object, kind, reason, format string, args ...any) {
	events.Send(r.Recorder, about, related, kind, reason, fmt.Sprintf(format, args...))
}

// tell makes an event and a log line of what is new in a claim's status. Status lasts, so another process repeats nothing.
func (r *Reconciler) tell(ctx context.Context, before, now *metalv1.ServerClaim) {
	if c := news(before, now, metalv1.ConditionBound); c != nil {
		r.tellBound(ctx, now, c)
	}
	if c := news(before, now, metalv1.ConditionBootReady); c != nil {
		r.tellBoot(ctx, now, c)
	}
}

// news returns a condition that has changed; nil if it has not. The message of a claim that waits has counts, which change
// all the time: only the reason counts there.
func news(before, now *metalv1.ServerClaim, kind string) *metav1.Condition {
	was, is := apimeta.FindStatusCondition(before.Status.Conditions, kind), apimeta.FindStatusCondition(now.Status.Conditions, kind)
	switch {
	case is == nil:
		return nil
	case was == nil, was.Status != is.Status, was.Reason != is.Reason:
		return is
	case kind == metalv1.ConditionBootReady && events.Differ(was, is):
		return is
	}
	return nil
}

func (r *Reconciler) tellBound(ctx context.Context, obj *metalv1.ServerClaim, bound *metav1.Condition) {
	kind := corev1.EventTypeNormal
	switch bound.Reason {
	case metalv1.ReasonAllocated:
		r.event(obj, nil, kind, bound.Reason, "%s is bound to the claim", bound.Message)
		return
	case metalv1.ReasonAllMatchingServersBusy:
		log.FromContext(ctx).V(1).Info("claim waits for a server", "reason", bound.Reason, "message", bound.Message)
	default: // waiting alone may not help
		kind = corev1.EventTypeWarning
		log.FromContext(ctx).Info("claim has no server", "reason", bound.Reason, "message", bound.Message)
	}
	r.event(obj, nil, kind, bound.Reason, "%s", bound.Message)
}

func (r *Reconciler) tellBoot(ctx context.Context, obj *metalv1.ServerClaim, boot *metav1.Condition) {
	name := obj.Namespace + "/" + obj.Name
	switch {
	case boot.Reason == reasonNotBound, boot.Reason == reasonBootPending:
	case boot.Reason == reasonBootError && obj.Spec.Image == "": // it asks for nothing to boot
		r.event(obj, nil, corev1.EventTypeNormal, boot.Reason, "%s", boot.Message)
	case boot.Reason == reasonBootReady:
		r.event(obj, nil, corev1.EventTypeNormal, boot.Reason, "ServerBootConfiguration %s is ready to boot", name)
		log.FromContext(ctx).V(1).Info("claim is ready to boot")
	case boot.Reason == metalv1.ReasonReinstallPending:
		r.event(obj, nil, corev1.EventTypeNormal, boot.Reason, "%s", boot.Message)
	default:
		r.event(obj, nil, corev1.EventTypeWarning, boot.Reason, "%s", boot.Message)
		log.FromContext(ctx).Info("claim cannot boot", "reason", boot.Reason, "message", boot.Message)
	}
}
