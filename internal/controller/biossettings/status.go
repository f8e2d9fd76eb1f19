package biossettings

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// report writes status, once, and only if it says anything new.
func (r *Reconciler) report(ctx context.Context, v *view, p *plan) error {
	before := v.obj.DeepCopy()
	status := &v.obj.Status
	status.State, status.ObservedGeneration = p.state, v.obj.Generation
	status.FailedAttempts = 0
	now := p.progress
	if now != nil {
		status.FailedAttempts = int32(now.Failures)
	}
	status.LastAppliedTime = nil
	if now != nil && now.Step == stepDone {
		at := metav1.NewTime(now.Since.Local().Truncate(1e9))
		status.LastAppliedTime = &at
	}
	status.FlowState = flowState(v, p)
	ready := metav1.Condition{
		Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: p.reason, Message: p.message, ObservedGeneration: v.obj.Generation,
	}
	if p.state == metalv1.BIOSSettingsStateApplied {
		ready.Status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&status.Conditions, ready)
	if equality.Semantic.DeepEqual(before.Status, *status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, v.obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return nil
}

// flowState is where each part of the flow stands.
func flowState(v *view, p *plan) []metalv1.BIOSSettingsFlowStatus {
	var states []metalv1.BIOSSettingsFlowStatus
	var l *look
	if v.looked != nil && v.looked.err == nil && v.looked.asked == v.asked {
		l = v.looked
	}
	for _, item := range v.flow {
		s := metalv1.BIOSSettingsFlowStatus{Name: item.Name, Priority: item.Priority, State: metalv1.BIOSSettingsStatePending}
		switch {
		case p.state == metalv1.BIOSSettingsStateApplied, l != nil && len(differing(item.Settings, l.bios.Attributes)) == 0:
			s.State = metalv1.BIOSSettingsStateApplied
		case p.state == metalv1.BIOSSettingsStateFailed:
			s.State = metalv1.BIOSSettingsStateFailed
		case p.progress.active() && p.progress.Item == item.Name:
			s.State = metalv1.BIOSSettingsStateInProgress
		}
		if s.State == metalv1.BIOSSettingsStateApplied && v.obj.Status.LastAppliedTime != nil {
			s.LastAppliedTime = v.obj.Status.LastAppliedTime
		}
		states = append(states, s)
	}
	return states
}
