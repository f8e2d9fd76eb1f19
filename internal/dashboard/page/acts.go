package page

import (
	"cmp"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
)

// act is a form of one button, which posts to /dashboard/servers/NAME/Verb.
type act struct {
	Verb, Name string
	// Asks is what a person is asked before; empty: nothing is lost by it.
	Asks string
}

// acts are those that make sense for a server in its state. Whether this person may is for the Kubernetes API to say.
type acts struct {
	Plain, Asking []act
	// Claimable says that a claim can have the server, and Claim whose it is: namespace and name.
	Claimable        bool
	Namespace, Claim string
}

// actsOf offers what `farrier power`, `park` and the others take for a server in that state.
func actsOf(s *metalv1.Server, claim *metalv1.ServerClaim) acts {
	var a acts
	state := cmp.Or(s.Status.State, metalv1.ServerStateInitial)
	owned := state == metalv1.ServerStateReserved && claim != nil || state == metalv1.ServerStateMaintenance && s.Annotations[metalv1.AnnotationMaintainedBy] != ""
	on := s.Status.PowerState == metalv1.PowerStateOn
	ask := func(verb, name, question string) { a.Asking = append(a.Asking, act{verb, name, question}) }
	plain := func(verb, name string) { a.Plain = append(a.Plain, act{verb, name, ""}) }
	if owned && !on {
		plain("power-on", "Power on")
	}
	if s.Spec.Unclaimable {
		plain("uncordon", "Uncordon")
	} else {
		plain("cordon", "Cordon")
	}
	if owned && on {
		ask("power-off", "Power off", "Its operating system is asked to shut down.")
		ask("force-off", "Force off", "The power is cut at once. What is not written to disk is lost.")
		ask("cycle", "Power cycle", "The power is cut and comes back. What is not written to disk is lost.")
		ask("reset", "Reset", "It restarts at once, as by its button. What is not written to disk is lost.")
	}
	switch state {
	case metalv1.ServerStateParked:
		plain("unpark", "Unpark")
	default:
		ask("park", "Park", "It is shut down once, and Farrier leaves it alone until somebody unparks it.")
	}
	switch {
	case state == metalv1.ServerStateMaintenance && owned:
		ask("end-maintenance", "End maintenance", "Its maintenance is deleted, and the server returns to where it belongs.")
	case state != metalv1.ServerStateMaintenance:
		ask("maintain", "Maintain", "A maintenance has it for itself until that is deleted. A claim keeps it, and its owner may have to approve.")
	}
	if free := state == metalv1.ServerStateAvailable && !s.Spec.Unclaimable; free || state == metalv1.ServerStateReleased || state == metalv1.ServerStateError && s.Annotations[metalv1.AnnotationClaimedBy] != "" {
		ask("wipe", "Wipe", "All its disks are erased. Nothing brings the data back.")
		a.Claimable = free
	}
	if ref := s.Spec.ServerClaimRef; ref != nil && state != metalv1.ServerStateReleased {
		a.Namespace, a.Claim = ref.Namespace, ref.Name
	}
	return a
}

// attemptOf is the newest boot of a configuration; nil: none has begun.
func attemptOf(config *metalv1.ServerBootConfiguration) *bootattempt.Attempt {
	if a := bootattempt.Of(config); a.Begun() {
		return a
	}
	return nil
}

func conditionOf(conditions []metav1.Condition, kind string) *metav1.Condition {
	return apimeta.FindStatusCondition(conditions, kind)
}

// newest are conditions with the newest first, as many as are shown.
func newest(conditions []metav1.Condition) []metav1.Condition {
	sorted := slices.Clone(conditions)
	slices.SortStableFunc(sorted, func(a, b metav1.Condition) int { return b.LastTransitionTime.Compare(a.LastTransitionTime.Time) })
	return sorted[:min(len(sorted), mostConditions)]
}
