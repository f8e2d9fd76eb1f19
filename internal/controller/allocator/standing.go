package allocator

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
)

// Reasons of a claim's Bound condition beside those that the API names.
const (
	ReasonServerNotFound     = "ServerNotFound"
	ReasonServerNotClaimable = "ServerNotClaimable"
	ReasonSelectorInvalid    = "SelectorInvalid"
	ReasonSelectorMismatch   = "SelectorMismatch"
	ReasonInvalidName        = metalv1.ReasonInvalidName
)

// standing is what keeps every claim away from a server. Taints are not part of it: some
// claims tolerate them.
type standing uint8

const (
	free standing = iota
	taken
	unclean
	inMaintenance
	notAvailable
	notOff
	booting
	parked
	unclaimable
	deleting
	standings // how many there are
)

// words are for one server ("Server x …") and for several of them ("3 …").
var words = [standings]struct{ reason, one, several string }{
	free:          {metalv1.ReasonAllMatchingServersBusy, "is about to be handed out", "about to be handed out"},
	taken:         {metalv1.ReasonAllMatchingServersBusy, "belongs to another claim", "of other claims"},
	unclean:       {metalv1.ReasonAllMatchingServersBusy, "has to be cleaned first", "to be cleaned first"},
	inMaintenance: {metalv1.ReasonAllMatchingServersBusy, "is in maintenance", "in maintenance"},
	notAvailable:  {metalv1.ReasonAllMatchingServersBusy, "is not Available", "not Available"},
	notOff:        {metalv1.ReasonAllMatchingServersBusy, "is not off yet", "not off yet"},
	booting:       {metalv1.ReasonAllMatchingServersBusy, "still has a boot configuration", "with a boot configuration still"},
	parked:        {ReasonServerNotClaimable, "is parked, or about to be", "parked"},
	unclaimable:   {ReasonServerNotClaimable, "is unclaimable", "unclaimable"},
	deleting:      {ReasonServerNotClaimable, "is being deleted", "being deleted"},
}

// parks reports whether a server is parked, or asked to be.
func parks(s *metalv1.Server) bool {
	operation, _ := metalv1.OperationOf(s)
	return operation == metalv1.OperationPark || s.Annotations[metalv1.AnnotationParked] == metalv1.AnnotationTrue
}

// standingOf judges a server by itself.
func standingOf(s *metalv1.Server) standing {
	switch {
	case !s.DeletionTimestamp.IsZero():
		return deleting
	case s.Spec.ServerClaimRef != nil:
		return taken
	case s.Spec.Unclaimable:
		return unclaimable
	case parks(s):
		return parked
	case s.Annotations[metalv1.AnnotationClaimedBy] != "":
		return unclean
	case s.Spec.ServerMaintenanceRef != nil:
		return inMaintenance
	case probeboot.Of(s).Pending():
		return notAvailable // whatever status still says
	case !apimeta.IsStatusConditionTrue(s.Status.Conditions, metalv1.ConditionClaimable):
		return notClaimable(s)
	case s.Spec.BootConfigurationRef != nil:
		return booting
	}
	return free
}

// notClaimable tells the message why a server that says of itself that it is not claimable is not.
func notClaimable(s *metalv1.Server) standing {
	if s.Status.State != metalv1.ServerStateAvailable {
		return notAvailable
	}
	return notOff
}

// Free reports whether a server may be given to a claim that tolerates its taints.
func Free(s *metalv1.Server) bool { return standingOf(s) == free }

// NewsFor reports whether anything that decides about claims differs between two versions of a Server.
func NewsFor(before, after *metalv1.Server) bool {
	a, b := before.Spec.ServerClaimRef, after.Spec.ServerClaimRef
	return standingOf(before) != standingOf(after) || (a == nil) != (b == nil) || a != nil && *a != *b ||
		before.Annotations[metalv1.AnnotationClaimedBy] != after.Annotations[metalv1.AnnotationClaimedBy]
}
