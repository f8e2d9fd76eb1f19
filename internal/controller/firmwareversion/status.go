package firmwareversion

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
)

// report writes status, once, and only if it says anything new.
func (r *Reconciler) report(ctx context.Context, v *view, p *plan) error {
	before := v.item.copied()
	status := v.item.status
	status.State, status.ObservedGeneration = p.state, v.item.GetGeneration()
	status.FailedAttempts = 0
	if p.progress != nil && p.progress.Asked == v.asked {
		status.FailedAttempts = int32(p.progress.Failures)
	}
	status.UpgradeTask = v.task(p)
	ready := metav1.Condition{
		Type: metalv1.ConditionReady, Status: metav1.ConditionFalse, Reason: p.reason, Message: p.message, ObservedGeneration: v.item.GetGeneration(),
	}
	if p.state == metalv1.VersionStateCompleted {
		ready.Status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&status.Conditions, ready)
	if equality.Semantic.DeepEqual(before, v.item.Object) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, v.item.Object, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return nil
}

// task is what the BMC says of the update; of one that has ended, what it said last.
func (v *view) task(p *plan) *metalv1.UpgradeTask {
	n := p.progress
	if !n.active() || n.Task == "" {
		if p.state == metalv1.VersionStateInProgress {
			return nil
		}
		return v.item.status.UpgradeTask
	}
	t := &metalv1.UpgradeTask{URI: n.Task, State: n.Said, PercentageComplete: int32(min(max(n.Percent, 0), 100))}
	if l := v.looked; l != nil && l.err == nil && (l.task.URI == n.Task || l.task.URI == v.progress.Task) {
		t.Status = l.task.Message
	} else if last := v.item.status.UpgradeTask; last != nil && last.URI == n.Task {
		t.Status = last.Status
	}
	if t.State == "" {
		t.State = string(bmc.TaskRunning)
	}
	return t
}
