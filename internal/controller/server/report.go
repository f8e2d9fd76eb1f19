package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
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
		r.Logger.Info("server changed state", "server", v.Server.Name, "state", status.State)
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

// alarmed says in the condition BootAlarm what the newest alarm is, and takes it back when a later boot has begun without one. It reports
// whether that is news. An alarm of before a restart is known by the condition alone.
func (r *Reconciler) alarmed(v *View) (news bool) {
	if r.Alarms == nil {
		return false
	}
	conditions := &v.Server.Status.Conditions
	old := apimeta.FindStatusCondition(*conditions, metalv1.ConditionBootAlarm)
	newest, raised := r.Alarms.Of(v.Server.Name)
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

// tellAlarm makes an event of an alarm that is news.
func (r *Reconciler) tellAlarm(v *View) {
	c := apimeta.FindStatusCondition(v.Server.Status.Conditions, metalv1.ConditionBootAlarm)
	r.Recorder.Eventf(v.Server, nil, corev1.EventTypeWarning, c.Reason, c.Reason, "%s", c.Message)
	r.Logger.Info("boot alarm", "server", v.Server.Name, "reason", c.Reason, "message", c.Message)
}

// tellTrouble tells once, by an event and in the log, that an order about power does not come true. What the conditions said before
// decides whether that is news: each attempt would be, otherwise.
func (r *Reconciler) tellTrouble(v *View, before []metav1.Condition) {
	for _, kind := range []string{metalv1.ConditionPoweringOn, metalv1.ConditionWaitingForPowerOff} {
		is, was := apimeta.FindStatusCondition(v.Server.Status.Conditions, kind), apimeta.FindStatusCondition(before, kind)
		if is == nil || is.Reason != reasonCommandFailed || was != nil && was.Reason == reasonCommandFailed {
			continue
		}
		r.Recorder.Eventf(v.Server, nil, corev1.EventTypeWarning, reasonCommandFailed, reasonCommandFailed, "%s", is.Message)
		r.Logger.Info("power command failed", "server", v.Server.Name, "condition", kind, "message", is.Message)
	}
}

// tellForeign tells once that a server is left to somebody else.
func (r *Reconciler) tellForeign(v *View, before []metav1.Condition) {
	is := apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionForeignMaintenance)
	if is == nil || is.Status != metav1.ConditionTrue || apimeta.IsStatusConditionTrue(before, conditionForeignMaintenance) {
		return
	}
	r.Recorder.Eventf(v.Server, nil, corev1.EventTypeNormal, conditionForeignMaintenance, conditionForeignMaintenance, "%s", is.Message)
}

// inspected fills in what a probe reported, once for each report: the condition Discovered tells.
func (r *Reconciler) inspected(ctx context.Context, v *View) error {
	discovered := apimeta.FindStatusCondition(v.Server.Status.Conditions, metalv1.ConditionDiscovered)
	known := discovered != nil && discovered.Status == metav1.ConditionTrue && strings.HasSuffix(discovered.Message, attemptSuffix(v.Inspected))
	if v.Inspected == "" || known {
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
	if network := reported(&registration.Data); len(network) > 0 {
		v.Server.Status.NetworkInterfaces = network
	}
	return nil
}

// maxReportSize bounds a stored report when it is unpacked.
const maxReportSize = 8 << 20

// How long status is not written for what is usually over by then.
const (
	// moment is what this process and its boot servers need.
	moment = 2 * time.Second
	// while is what a BMC or a registry needs, or a queue of a thousand other servers. Only a server of which nothing has
	// been said yet, or whose machine goes off to be Available, is silent for so long.
	while = 15 * time.Second
)

// firstWord is how long v may be silent of what is awaited.
func (v *View) firstWord() time.Duration {
	if v.Server.Status.State == "" && v.OverriddenBy == "" {
		return while
	}
	return moment
}

// brief is Unsettled for a time from since on.
func (p *Plan) brief(now, since time.Time, usual time.Duration) {
	if now.Before(since.Add(usual)) {
		p.Unsettled = true
		p.after(now, since.Add(usual))
	}
}

// reports says whether status is to be written for a server of which status says that it is in state before.
// What the plan writes beside status wakes the server again at once: what there is to say is said then,
// unless by then the server is in another state and this one would never be seen.
func (p *Plan) reports(before, state metalv1.ServerState) bool {
	if p.Event.Reason != "" {
		return true // the condition that goes with it keeps it from being told again
	}
	return !p.Unsettled && p.Attempt == nil && (!p.Prepare || before != state)
}
