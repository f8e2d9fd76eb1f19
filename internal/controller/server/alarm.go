package server

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

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
		news = old == nil || old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message
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
	r.Logger.Info("Alarm", "server", v.Server.Name, "reason", c.Reason, "message", c.Message)
}
