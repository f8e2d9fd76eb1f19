package server

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/bootrelay"
	"github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// report writes status, once, and only if it says anything new.
func (r *Reconciler) report(ctx context.Context, v *View, ph phase, p *Plan) error {
	if v.defers(ph, p) {
		return nil
	}
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
	setConditions(v, ph, p)
	if err := r.lastCleaned(ctx, v); err != nil {
		return err
	}
	r.tellLate(v)
	r.tellTrouble(ctx, v, before.Status.Conditions)
	r.tellForeign(v, before.Status.Conditions)
	news, err := r.sayTrouble(ctx, v, p)
	if err != nil {
		return err
	}
	if r.alarmed(v) {
		r.tellAlarm(ctx, v)
	}
	if status.State != metalv1.ServerStateInitial {
		r.begun.add(v.Server.Name)
	}
	if equality.Semantic.DeepEqual(before.Status, *status) {
		return nil
	}
	// The lock keeps a reconcile with an old view from writing an old state over a newer one.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err = r.Status().Patch(ctx, v.Server, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	news.Tell(r.Recorder, v.Server)
	if before.Status.State != status.State {
		log.FromContext(ctx).Info("server changed state", "state", status.State)
	}
	return nil
}

// tellLate counts servers by state, and makes one event of each that becomes late.
func (r *Reconciler) tellLate(v *View) {
	late := apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionLate)
	isLate := late != nil && late.Status == metav1.ConditionTrue
	if r.census.note(v.Server.Name, v.Server.Status.State, isLate, v.Now) {
		events.Send(r.Recorder, v.Server, nil, corev1.EventTypeWarning, late.Reason, late.Message)
	}
}

// lastCleaned says how a free server was cleaned last, where status no longer says so.
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

// alarmed says in condition BootAlarm what the newest alarm is, and clears it when a later boot has started without one. It reports
// whether the alarm is new. Only the condition knows an alarm that was raised before a restart.
func (r *Reconciler) alarmed(v *View) (news bool) {
	if r.Alarms == nil {
		return false
	}
	conditions := &v.Server.Status.Conditions
	old := apimeta.FindStatusCondition(*conditions, metalv1.ConditionBootAlarm)
	newest, raised := r.newestAlarm(v, old)
	laterBoot := func(at metav1.Time) bool {
		return v.Attempt.Begun() && v.Attempt.Started != nil && v.Attempt.Started.After(at.Time)
	}
	if raised && newest.Attempt != v.attemptID() && laterBoot(metav1.NewTime(newest.At)) {
		r.Alarms.Clear(v.Server.Name)
		raised = false
	}
	c := metav1.Condition{Type: metalv1.ConditionBootAlarm, ObservedGeneration: v.Server.Generation, LastTransitionTime: metav1.NewTime(v.Now)}
	switch {
	case raised:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, newest.Reason, newest.Message
		news = events.Differ(old, &c)
	case old != nil && old.Status == metav1.ConditionTrue && laterBoot(old.LastTransitionTime):
		c.Status, c.Reason = metav1.ConditionFalse, "NoAlarm"
	default:
		return false
	}
	apimeta.SetStatusCondition(conditions, c)
	return news
}

// newestAlarm is the newest one that this process knows or another manager has written. The annotation stays for ever, and one that the condition has
// told to be over is over.
func (r *Reconciler) newestAlarm(v *View, told *metav1.Condition) (alarm.Alarm, bool) {
	newest, raised := r.Alarms.Of(v.Server.Name)
	relayed, ok := bootrelay.AlarmOf(v.Server)
	over := told != nil && told.Status == metav1.ConditionFalse && told.LastTransitionTime.After(relayed.At)
	if ok && !over && (!raised || relayed.At.After(newest.At)) {
		return relayed, true
	}
	return newest, raised
}

// tellAlarm makes an event of a new alarm.
func (r *Reconciler) tellAlarm(ctx context.Context, v *View) {
	c := apimeta.FindStatusCondition(v.Server.Status.Conditions, metalv1.ConditionBootAlarm)
	events.Send(r.Recorder, v.Server, nil, corev1.EventTypeWarning, c.Reason, c.Message)
	log.FromContext(ctx).Info("boot alarm", "reason", c.Reason, "message", c.Message)
}

// tellTrouble tells once, by an event and in the log, that a power command has no effect. The reason that the condition had before says
// whether that was told: each attempt would be an event otherwise.
func (r *Reconciler) tellTrouble(ctx context.Context, v *View, before []metav1.Condition) {
	for _, kind := range []string{metalv1.ConditionPoweringOn, metalv1.ConditionWaitingForPowerOff} {
		is, was := apimeta.FindStatusCondition(v.Server.Status.Conditions, kind), apimeta.FindStatusCondition(before, kind)
		if is == nil || is.Reason != reasonCommandFailed || was != nil && was.Reason == reasonCommandFailed {
			continue
		}
		events.Send(r.Recorder, v.Server, nil, corev1.EventTypeWarning, is.Reason, is.Message)
		log.FromContext(ctx).Info("power command failed", "condition", kind, "message", is.Message)
	}
}

// tellForeign tells once that another operator's maintenance has the server.
func (r *Reconciler) tellForeign(v *View, before []metav1.Condition) {
	is := apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionForeignMaintenance)
	if is == nil || is.Status != metav1.ConditionTrue || apimeta.IsStatusConditionTrue(before, conditionForeignMaintenance) {
		return
	}
	events.Send(r.Recorder, v.Server, nil, corev1.EventTypeNormal, conditionForeignMaintenance, is.Message)
}

// inspected fills in what a probe reported, once for each report.
func (r *Reconciler) inspected(ctx context.Context, v *View) error {
	status := &v.Server.Status
	if v.Inspected == "" || status.InspectionAttempt == v.Inspected {
		return nil
	}
	var obj corev1.ConfigMap
	if err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: machinerecord.InspectionName(v.Server.Name)}, &obj); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("record of the inspection: %w", err))
	}
	registration, err := inspection.Unpack(obj.BinaryData[machinerecord.Key], maxReportSize)
	if err != nil {
		log.FromContext(ctx).Error(err, "inspection record is damaged", "record", obj.Name)
		return nil
	}
	status.InspectionAttempt = v.Inspected
	if network := reported(&registration.Data); len(network) > 0 {
		status.NetworkInterfaces = network
	}
	return nil
}

// maxReportSize limits the size of an unpacked report.
const maxReportSize = 8 << 20

// How long status is not written while a decision awaits something that is usually over by then. Each write costs every server of a
// fleet as much.
const (
	// moment is what this process and its boot servers need.
	moment = 2 * time.Second
	// while is what a BMC or a registry needs, or a queue of a thousand other servers.
	while = 15 * time.Second
)

// patience is how long the status of v may say nothing of what is awaited; unlimited: the plan ends that itself.
func (v *View) patience(what Awaited) (limit time.Duration, unlimited bool) {
	switch what {
	case AwaitsPreparation: // the server is in Discovery at once
		return 0, true
	case AwaitsIdle: // that it is Available and that it is off are one write
		return while, false
	case AwaitsInventory, AwaitsBootConfiguration:
		if v.Server.Status.State == "" && v.OverriddenBy == "" { // status has said nothing of this server yet
			return while, false
		}
		return moment, false
	case AwaitsPowerOff, AwaitsBootServer:
		return moment, false
	case AwaitsPowerOn:
		if v.Server.Status.State == "" {
			return while, false
		}
	}
	return 0, false
}

// defers reports whether status is not written now. What a plan writes elsewhere triggers the next reconcile at once, and status says
// then what there is to say, unless the server is in another state by then and status would never show this one.
func (v *View) defers(ph phase, p *Plan) bool {
	limit, unlimited := v.patience(p.Awaits)
	until := p.Since.Add(limit)
	waits := unlimited || v.Now.Before(until)
	if waits && !unlimited {
		p.after(v.Now, until)
	}
	if len(p.Events) > 0 {
		return false // the condition that goes with an event keeps it from being repeated
	}
	return waits || p.Attempt != nil || p.Prepare && v.Server.Status.State == ph.state
}
