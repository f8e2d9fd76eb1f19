package bmcuser

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// report writes status, once, and only if it says anything new.
func (r *Reconciler) report(ctx context.Context, s *scope, p *plan) error {
	before := s.obj.DeepCopy()
	status, now := &s.obj.Status, s.progress
	status.ObservedGeneration, status.ID = s.obj.Generation, now.Account
	status.EffectiveBMCSecretRef = nil
	if now.Secret != "" {
		status.EffectiveBMCSecretRef = &metalv1.LocalObjectReference{Name: now.Secret}
	}
	status.LastRotation, status.PasswordExpiration = timeOf(now.Rotated), timeOf(now.Expires)
	ready := metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: p.reason, Message: p.message, ObservedGeneration: s.obj.Generation}
	if p.ready {
		ready.Status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&status.Conditions, ready)
	if c := rotatedCondition(s, now); c != nil {
		c.Type, c.ObservedGeneration = metalv1.ConditionRotated, s.obj.Generation
		apimeta.SetStatusCondition(&status.Conditions, *c)
	}
	if equality.Semantic.DeepEqual(before.Status, *status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, s.obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return nil
}

// rotatedCondition says at which step a rotation is and since when, or how the last one ended; nil: there was none.
func rotatedCondition(s *scope, now progress) *metav1.Condition {
	switch {
	case now.Next != "" && now.Refused != nil:
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: metalv1.ReasonBothPasswordsRefused, Message: "The account is locked since " + now.Refused.Format(time.RFC3339)}
	case now.Next != "" && now.Replaced != "":
		return &metav1.Condition{Status: metav1.ConditionUnknown, Reason: metalv1.ReasonSecretReplaced, Message: fmt.Sprintf("Somebody has deleted or changed BMCSecret %q. The account gets the password in BMCSecret %q", now.Replaced, now.Next)}
	case now.Next != "":
		message := fmt.Sprintf("Changing the password (%s)", now.Cause)
		if now.Since != nil {
			message += " since " + now.Since.Format(time.RFC3339)
		}
		if s.said != "" {
			message += ": " + s.said
		}
		return &metav1.Condition{Status: metav1.ConditionUnknown, Reason: metalv1.ReasonRotating, Message: message}
	case now.Failed != nil:
		return &metav1.Condition{Status: metav1.ConditionFalse, Reason: now.Failed.Reason, Message: now.Failed.Message}
	case now.Secret != "":
		return &metav1.Condition{Status: metav1.ConditionTrue, Reason: metalv1.ReasonRotated, Message: fmt.Sprintf("The account has the password in BMCSecret %q", now.Secret)}
	}
	return nil
}

func timeOf(t *time.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	at := metav1.NewTime(t.Local())
	return &at
}
