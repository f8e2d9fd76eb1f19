package server

import (
	"context"
	"fmt"
	"reflect"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// report writes status, once, and only if it says anything new.
func (r *Reconciler) report(ctx context.Context, v *View, ph phase, p *Plan) error {
	before := v.Server.DeepCopy()
	status := &v.Server.Status
	status.State = ph.state
	status.ObservedGeneration = v.Server.Generation
	if v.System != nil {
		observed(status, v.System)
	}
	r.inspected(ctx, v)
	r.conditions(v, ph, p)
	if reflect.DeepEqual(before.Status, *status) {
		return nil
	}
	// The lock keeps a reconcile with an old view from writing an old state over a newer one.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, v.Server, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	if before.Status.State != status.State {
		r.Logger.Info("Server is "+string(status.State), "server", v.Server.Name)
	}
	return nil
}

// conditions sets every condition of the server from what the plan left and what
// the view shows. A condition that no longer holds goes back to False.
func (r *Reconciler) conditions(v *View, ph phase, p *Plan) {
	list := &v.Server.Status.Conditions
	ready := metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Reachable", Message: "The BMC answers"}
	switch {
	case v.Unreachable != nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reason(v.Unreachable, "BMCUnreachable"), v.Unreachable.Error()
	case v.System == nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, "NotObserved", "The BMC has not been heard of yet"
	}
	quiet := func(kind, why string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: why}
	}
	set := []metav1.Condition{ready, lateness(v, ph)}
	if v.System != nil {
		set = append(set, r.power(v)...)
	}
	if ph.state == metalv1.ServerStateAvailable && v.Server.Spec.BootConfigurationRef == nil {
		set = append(set, quiet(metalv1.ConditionBootReady, "NothingToBoot"))
	}
	for _, c := range append(set, p.Conditions...) {
		c.ObservedGeneration = v.Server.Generation
		apimeta.SetStatusCondition(list, c)
	}
}

// power says in both power conditions what the BMC is doing, in both directions.
func (r *Reconciler) power(v *View) []metav1.Condition {
	poweringOn := metav1.Condition{Type: metalv1.ConditionPoweringOn, Status: metav1.ConditionFalse, Reason: "Idle"}
	waiting := metav1.Condition{Type: metalv1.ConditionWaitingForPowerOff, Status: metav1.ConditionFalse, Reason: "Idle"}
	c := v.System.Command
	if c.State == fleet.Failed && c.Err != nil {
		switch c.Kind {
		case fleet.PowerOn:
			poweringOn.Reason, poweringOn.Message = "CommandFailed", c.Err.Error()
		case fleet.PowerOff:
			waiting.Reason, waiting.Message = "CommandFailed", c.Err.Error()
		}
	}
	return []metav1.Condition{poweringOn, waiting}
}

// lateness says that a server has been longer in its state than is usual.
func lateness(v *View, ph phase) metav1.Condition {
	onTime := metav1.Condition{Type: conditionLate, Status: metav1.ConditionFalse, Reason: "OnTime"}
	usual, bounded := expected[ph.state]
	if !bounded {
		return onTime
	}
	since := v.Server.CreationTimestamp.Time
	if v.Attempt != nil && v.Attempt.Ordered != nil {
		since = *v.Attempt.Ordered
	}
	if d := v.Now.Sub(since); d > usual {
		return metav1.Condition{
			Type: conditionLate, Status: metav1.ConditionTrue, Reason: "LateIn" + string(ph.state),
			Message: fmt.Sprintf("Longer than the usual %s in state %s", usual.Round(time.Minute), ph.state),
		}
	}
	return onTime
}
