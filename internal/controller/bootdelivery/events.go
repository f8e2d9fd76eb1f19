package bootdelivery

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
)

// tell makes events of what has become wrong with the status that was just written.
func (d *Delivery) tell(in *source, before, after client.Object) {
	if d.Recorder == nil {
		return
	}
	ready, was := apimeta.FindStatusCondition(conditionsIn(after), conditionReady), apimeta.FindStatusCondition(conditionsIn(before), conditionReady)
	if in.warning != "" && ready != nil && ready.Message == in.warning && (was == nil || was.Message != in.warning) {
		d.Recorder.Eventf(in.object, nil, corev1.EventTypeWarning, "IgnitionWarning", "IgnitionWarning", "%s", in.warning)
	}
	bad := map[string]metav1.ConditionStatus{
		conditionReady:                    metav1.ConditionFalse,
		bootv1.ConditionIgnitionReadAgain: metav1.ConditionTrue,
	}
	for kind, status := range bad {
		was, is := apimeta.FindStatusCondition(conditionsIn(before), kind), apimeta.FindStatusCondition(conditionsIn(after), kind)
		if is == nil || is.Status != status || was != nil && was.Status == status && was.Message == is.Message {
			continue
		}
		reason := kind
		if kind == conditionReady {
			reason = "NotDeliverable"
		}
		d.Recorder.Eventf(in.object, nil, corev1.EventTypeWarning, reason, reason, "%s", is.Message)
	}
}

func conditionsIn(obj client.Object) []metav1.Condition {
	switch o := obj.(type) {
	case *bootv1.IPXEBootConfig:
		return o.Status.Conditions
	case *bootv1.HTTPBootConfig:
		return o.Status.Conditions
	}
	return nil
}
