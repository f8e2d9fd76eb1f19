package bootdelivery

import (
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"k8s.io/apimachinery/pkg/api/equality"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
)

// conditionReady is the condition that says, in words, what the state says in one.
const conditionReady = metalv1.ConditionReady

// describe writes the status of a boot config: whether it can be delivered, and what is true no longer of what has been. It
// returns the status.
func (d *Delivery) describe(in *source, problem string) *bootmethod.Config {
	generation := in.object.GetGeneration()
	ready := metav1.Condition{Type: conditionReady, Status: metav1.ConditionTrue, Reason: "Ready", Message: in.warning, ObservedGeneration: generation}
	state := bootmethod.StateReady
	if problem != "" {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "Error", problem
		switch {
		case in.unheard != nil:
			ready.Reason = in.unheard.reason
		case in.misnamed:
			ready.Reason = metalv1.ReasonInvalidName
		}
		state = bootmethod.StateError
	} else if len(in.hidden) > 0 {
		// It is well, and will be served once that is gone.
		ready.Status, ready.Reason = metav1.ConditionFalse, ipxev1.ReasonOverridden
		ready.Message = "the machine gets " + strings.Join(in.hidden, ", ") + ", which takes precedence over boot configs written by hand"
		state = bootmethod.StatePending
	}
	status := bootmethod.ConfigOf(in.object)
	*status.State, *status.ObservedGeneration, *status.IgnitionFingerprint = state, generation, in.content
	apimeta.SetStatusCondition(status.Conditions, ready)
	describeContent(in, status.Conditions)
	in.takeBack(status)
	return status
}

// describeContent reports whether the ignition Secret of a boot configuration can be delivered. Its fingerprint tells whoever has installed a
// machine from another content. What people write by hand installs nothing that is remembered.
func describeContent(in *source, conditions *[]metav1.Condition) {
	c := metav1.Condition{Type: bootv1.ConditionIgnitionContent, Status: metav1.ConditionTrue, Reason: "Read", ObservedGeneration: in.object.GetGeneration()}
	if in.content == "" {
		if apimeta.FindStatusCondition(*conditions, c.Type) == nil {
			return
		}
		c.Status, c.Reason = metav1.ConditionFalse, "NotDeliverable"
	}
	apimeta.SetStatusCondition(conditions, c)
}

// entryName is the name of a boot config in the view.
func entryName(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

func items(list client.ObjectList) []client.Object {
	var out []client.Object
	// It fails for what is no list and for items that are no objects, and neither is given.
	_ = apimeta.EachListItem(list, func(item runtime.Object) error {
		out = append(out, item.(client.Object))
		return nil
	})
	return out
}

// onIdentityChange lets only those changes of a Server through that an answer to its machine depends on.
func onIdentityChange() builder.WatchesOption {
	return builder.WithPredicates(predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*metalv1.Server)
			after, ok2 := e.ObjectNew.(*metalv1.Server)
			return !ok1 || !ok2 || identityChanged(before, after)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	})
}

func identityChanged(before, after *metalv1.Server) bool {
	return before.Generation != after.Generation ||
		before.Labels[metalv1.LabelSite] != after.Labels[metalv1.LabelSite] ||
		before.Annotations[metalv1.AnnotationKernelArgs] != after.Annotations[metalv1.AnnotationKernelArgs] ||
		before.Status.SerialNumber != after.Status.SerialNumber ||
		!equality.Semantic.DeepEqual(before.Status.NetworkInterfaces, after.Status.NetworkInterfaces)
}
