package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
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
	if err := r.inspected(ctx, v); err != nil {
		return err
	}
	r.conditions(v, ph, p)
	if err := r.lastCleaned(ctx, v); err != nil {
		return err
	}
	r.tellLate(v)
	r.tellTrouble(v, before.Status.Conditions)
	r.tellForeign(v, before.Status.Conditions)
	if r.alarmed(v) {
		r.tellAlarm(v)
	}
	if status.State == metalv1.ServerStateAvailable {
		r.undertaken.set(v.Server.Name, false)
	}
	if equality.Semantic.DeepEqual(before.Status, *status) {
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

// tellLate counts where servers are, and tells once of each that becomes late.
func (r *Reconciler) tellLate(v *View) {
	late := apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionLate)
	is := standing{v.Server.Status.State, late != nil && late.Status == metav1.ConditionTrue}
	if r.census.note(v.Server.Name, is) {
		r.Recorder.Eventf(v.Server, nil, corev1.EventTypeWarning, late.Reason, late.Reason, "%s", late.Message)
	}
}

// lastCleaned says again of a free server how it was cleaned last, where status does not say so any more.
func (r *Reconciler) lastCleaned(ctx context.Context, v *View) error {
	status := &v.Server.Status
	if status.State != metalv1.ServerStateAvailable || v.claimedBy() != "" || apimeta.IsStatusConditionTrue(status.Conditions, metalv1.ConditionCleaned) {
		return nil
	}
	records, err := r.cleanups(ctx, v.Server.Name)
	if err != nil || len(records) == 0 {
		return err
	}
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: metalv1.ConditionCleaned, Status: metav1.ConditionTrue, Reason: metalv1.ReasonCleaned, Message: machinerecord.CleanupMetaOf(&records[0]).Summary,
		ObservedGeneration: v.Server.Generation, LastTransitionTime: metav1.NewTime(v.Now),
	})
	return nil
}

// conditions sets every condition of the server from what the view shows and what the plan left; of
// two of one type the later counts. A condition that no longer holds goes back to False.
func (r *Reconciler) conditions(v *View, ph phase, p *Plan) {
	set := []metav1.Condition{reachable(v), lateness(v, ph), claimable(v, ph)}
	if v.System != nil {
		set = append(set, uefiHTTPBoot(v))
		set = append(set, powerConditions(v)...)
	}
	if v.Inspected != "" {
		set = append(set, metav1.Condition{
			Type: metalv1.ConditionDiscovered, Status: metav1.ConditionTrue, Reason: "ReportStored",
			Message: "The report is on record: " + attemptSuffix(v.Inspected),
		})
	}
	if ph.state == metalv1.ServerStateParked && bootRef(v.Server) != nil && v.Boot == nil {
		set = append(set, metav1.Condition{Type: metalv1.ConditionBootReady, Status: metav1.ConditionFalse, Reason: "BootConfigurationMissing", Message: "The boot configuration is gone"})
	}
	if bootRef(v.Server) == nil {
		set = append(set, metav1.Condition{Type: metalv1.ConditionBootReady, Status: metav1.ConditionFalse, Reason: "NothingToBoot"})
	}
	if ph.state == metalv1.ServerStateReserved {
		set = append(set, metav1.Condition{Type: metalv1.ConditionCleaned, Status: metav1.ConditionFalse, Reason: "InUse", Message: "The server belongs to a claim"})
	}
	if v.Server.Spec.BMC != nil {
		set = append(set, credentialsUsed(v))
	}
	if waits := deletionWaits(v.Server); waits.Type != "" {
		set = append(set, waits)
	}
	if v.Foreign.has() || apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionForeignMaintenance) != nil {
		set = append(set, foreignMaintenance(v))
	}
	set = append(set, p.Conditions...)
	for i, c := range set {
		if slices.ContainsFunc(set[i+1:], func(later metav1.Condition) bool { return later.Type == c.Type }) {
			continue // setting both would be a transition, and a write, each time
		}
		c.ObservedGeneration = v.Server.Generation
		c.LastTransitionTime = metav1.NewTime(v.Now)
		apimeta.SetStatusCondition(&v.Server.Status.Conditions, c)
	}
}

// claimable reports whether a claim may take the server. While nothing was observed, which is the case after a start, a server
// that was claimable stays so.
func claimable(v *View, ph phase) metav1.Condition {
	c := metav1.Condition{Type: metalv1.ConditionClaimable, Status: metav1.ConditionFalse}
	was := apimeta.IsStatusConditionTrue(v.Server.Status.Conditions, c.Type)
	switch {
	case ph.state != metalv1.ServerStateAvailable:
		c.Reason, c.Message = metalv1.ReasonNotAvailable, "The server is not Available"
	case v.System == nil && was, v.off() && !v.unsettled():
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, metalv1.ReasonClaimable, "A claim may take the server"
	default:
		c.Reason, c.Message = metalv1.ReasonNotOff, "Waiting for the machine to be off"
	}
	return c
}

// reachable says whether the BMC answers, for this server.
func reachable(v *View) metav1.Condition {
	ready := metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Reachable", Message: "The BMC answers"}
	switch {
	case v.Unreachable != nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reason(v.Unreachable, "BMCUnreachable"), v.Unreachable.Error()
	case v.Missing:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "SystemNotFound", "The BMC shows no such system"
	case v.System == nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, "NotObserved", "The BMC has not been heard of yet"
	}
	return ready
}

// powerConditions says in both power conditions what the BMC is doing, in both directions.
func powerConditions(v *View) []metav1.Condition {
	poweringOn := metav1.Condition{Type: metalv1.ConditionPoweringOn, Status: metav1.ConditionFalse, Reason: "Idle"}
	waiting := metav1.Condition{Type: metalv1.ConditionWaitingForPowerOff, Status: metav1.ConditionFalse, Reason: "Idle"}
	c := v.System.Command
	on, off := v.trouble(fleet.PowerOn), v.trouble(fleet.PowerOff)
	switch {
	case !c.State.Ended() && on != nil:
		poweringOn.Status, poweringOn.Reason, poweringOn.Message = metav1.ConditionTrue, reasonCommandFailed, on.Error()
	case !c.State.Ended() && off != nil:
		waiting.Status, waiting.Reason, waiting.Message = metav1.ConditionTrue, reasonCommandFailed, off.Error()
	case c.State == fleet.Failed && c.Err != nil && c.Kind == fleet.PowerOn:
		poweringOn.Reason, poweringOn.Message = reasonCommandFailed, c.Err.Error()
	case c.State == fleet.Failed && c.Err != nil && c.Kind == fleet.PowerOff:
		waiting.Reason, waiting.Message = reasonCommandFailed, c.Err.Error()
	case c.State == fleet.Succeeded && c.Kind == fleet.PowerOff && c.Forced:
		waiting.Reason, waiting.Message = "ForcedOff", "The machine did not shut down when it was asked to, and was forced off"
	}
	return []metav1.Condition{poweringOn, waiting}
}

// lateness says that a server has been longer in its state than is usual.
func lateness(v *View, ph phase) metav1.Condition {
	late := metav1.Condition{Type: conditionLate, Status: metav1.ConditionTrue, Reason: "LateIn" + string(ph.state)}
	passed := func(at time.Time) bool { return !at.IsZero() && !v.Now.Before(at) }
	switch expected, _ := usual(ph.state); {
	case passed(v.powerDue(ph)):
		late.Message = fmt.Sprintf("For longer than the usual %s an order about its power does not come true; the conditions %s and %s say why",
			usualPower.Round(time.Minute), metalv1.ConditionPoweringOn, metalv1.ConditionWaitingForPowerOff)
	case passed(v.stateDue(ph)):
		late.Message = fmt.Sprintf("Longer than the usual %s in state %s", expected.Round(time.Minute), ph.state)
	default:
		return metav1.Condition{Type: conditionLate, Status: metav1.ConditionFalse, Reason: "OnTime"}
	}
	return late
}

// lateAt is when the server will be late; zero: never.
func (v *View) lateAt(ph phase) time.Time {
	power, state := v.powerDue(ph), v.stateDue(ph)
	if power.IsZero() || !state.IsZero() && state.Before(power) {
		return state
	}
	return power
}

// stateDue is when the server will have been longer in its state than is usual; zero: never. When
// a state began follows from what was made for it.
func (v *View) stateDue(ph phase) time.Time {
	expected, bounded := usual(ph.state)
	if !bounded {
		return time.Time{}
	}
	since := v.Server.CreationTimestamp.Time
	switch ph.state {
	case metalv1.ServerStateInitial:
		if t := discoveryNotBefore(v.Server); t.After(since) {
			since = t
		}
	case metalv1.ServerStateDiscovery:
		if v.Boot != nil {
			since = v.Boot.CreationTimestamp.Time
		}
		if v.Attempt.Open() {
			since = *v.Attempt.Ordered
		}
	case metalv1.ServerStateCleanup:
		since = v.Now // where nothing is booted
		if v.BootInternal && v.Boot != nil {
			since = v.Boot.CreationTimestamp.Time
		}
	}
	return since.Add(expected)
}
