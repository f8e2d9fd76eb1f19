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
	find := func(obj client.Object, kind string) *metav1.Condition {
		return apimeta.FindStatusCondition(*bootmethod.ConfigOf(obj).Conditions, kind)
	}
	for _, bad := range []struct {
		kind, reason string
		is           bool
	}{
		{conditionReady, "IgnitionWarning", in.warning != "" && isTrue(find(after, conditionReady))},
		{conditionReady, "NotDeliverable", apimeta.IsStatusConditionFalse(*bootmethod.ConfigOf(after).Conditions, conditionReady)},
		{bootv1.ConditionIgnitionReadAgain, bootv1.ConditionIgnitionReadAgain, isTrue(find(after, bootv1.ConditionIgnitionReadAgain))},
	} {
		if is := find(after, bad.kind); bad.is && events.Differ(find(before, bad.kind), is) {
			events.Send(d.Recorder, in.object, nil, corev1.EventTypeWarning, bad.reason, is.Message)
		}
	}
	d.tellReach(in, *bootmethod.ConfigOf(before).Conditions, *bootmethod.ConfigOf(after).Conditions)
}

// tellReach sends an event if no boot server uses what a boot config, or a boot configuration, says.
func (d *Delivery) tellReach(in *source, before, after []metav1.Condition) {
	is := apimeta.FindStatusCondition(after, bootv1.ConditionBootServerReached)
	if is != nil && events.Differ(apimeta.FindStatusCondition(before, is.Type), is) {
		events.Send(d.Recorder, in.object, nil, corev1.EventTypeWarning, "BootServerNotReached", is.Message)
	}
}
