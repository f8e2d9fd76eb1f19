package bootdelivery

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/events"
)

// tell sends an event for each condition that has become bad with the status that was just written.
func (d *Delivery) tell(in *source, before, after client.Object) {
	was, is := *bootmethod.ConfigOf(before).Conditions, *bootmethod.ConfigOf(after).Conditions
	switch {
	case apimeta.IsStatusConditionFalse(is, conditionReady):
		d.warn(in, was, is, conditionReady, "NotDeliverable")
	case in.warning != "" && apimeta.IsStatusConditionTrue(is, conditionReady):
		d.warn(in, was, is, conditionReady, "IgnitionWarning")
	}
	if apimeta.IsStatusConditionTrue(is, bootv1.ConditionIgnitionReadAgain) {
		d.warn(in, was, is, bootv1.ConditionIgnitionReadAgain, bootv1.ConditionIgnitionReadAgain)
	}
	d.tellReach(in, was, is)
}

// warn sends an event of a condition if that says something else than it did.
func (d *Delivery) warn(in *source, before, after []metav1.Condition, kind, reason string) {
	if is := apimeta.FindStatusCondition(after, kind); events.Differ(apimeta.FindStatusCondition(before, kind), is) {
		events.Send(d.Recorder, in.object, nil, corev1.EventTypeWarning, reason, is.Message)
	}
}

// tellReach sends an event if no boot server uses what a boot config, or a boot configuration, says.
func (d *Delivery) tellReach(in *source, before, after []metav1.Condition) {
	is := apimeta.FindStatusCondition(after, bootv1.ConditionBootServerReached)
	if is != nil && events.Differ(apimeta.FindStatusCondition(before, is.Type), is) {
		events.Send(d.Recorder, in.object, nil, corev1.EventTypeWarning, is.Reason, is.Message)
	}
}
