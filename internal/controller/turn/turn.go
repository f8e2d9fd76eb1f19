package turn

import (
	"cmp"
	"strings"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Before orders the maintenances of a server: by priority, then policy, then age.
func Before(a, b *metalv1.ServerMaintenance) int {
	enforced := func(m *metalv1.ServerMaintenance) int {
		if m.Spec.Policy == metalv1.ServerMaintenancePolicyEnforced {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(b.Spec.Priority, a.Spec.Priority),
		cmp.Compare(enforced(a), enforced(b)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// NeedsApproval reports whether a maintenance needs the word of whoever has the server: the safe answer where it does not say.
func NeedsApproval(m *metalv1.ServerMaintenance) bool {
	return m.Spec.Policy != metalv1.ServerMaintenancePolicyEnforced
}

// Approved reports whether nobody has to be waited for: there is no claim, it need not be asked, or its owner has agreed. That
// is said once for all maintenances that ask.
func Approved(m *metalv1.ServerMaintenance, claim *metalv1.ServerClaim) bool {
	if claim == nil || !NeedsApproval(m) {
		return true
	}
	agreed := false
	for _, name := range approvals {
		value, set := claim.Labels[name]
		if value == "false" {
			return false
		}
		agreed = agreed || set
	}
	return agreed
}

// approvals are the labels that approve. Until metal-operator 0.5 it was the second, which clients of that time still write.
var approvals = []string{metalv1.LabelMaintenanceApproved, metalv1.LabelMaintenanceApproval}

// Forget removes the approval from a claim.
func Forget(claim *metalv1.ServerClaim) {
	for _, name := range approvals {
		delete(claim.Labels, name)
	}
}

// Waits reports whether a maintenance would take the server if it were its turn.
func Waits(m *metalv1.ServerMaintenance, claim *metalv1.ServerClaim) bool {
	return m.DeletionTimestamp.IsZero() && !metalv1.IsIgnored(m) &&
		m.Status.State != metalv1.ServerMaintenanceStateFailed && Approved(m, claim)
}

// First is the one whose turn it is among those that Waits is true of, and of the one called self in any case; nil: nobody's.
func First(list []metalv1.ServerMaintenance, claim *metalv1.ServerClaim, self *metalv1.ServerMaintenance) *metalv1.ServerMaintenance {
	var first *metalv1.ServerMaintenance
	for i := range list {
		m := &list[i]
		if !Waits(m, claim) && (self == nil || m.UID != self.UID) {
			continue
		}
		if first == nil || Before(m, first) < 0 {
			first = m
		}
	}
	return first
}

// Mark is what is remembered on a server, with the reference to the maintenance that has it, of its having been granted.
func Mark(m *metalv1.ServerMaintenance) string {
	return m.Namespace + "/" + m.Name + "@" + string(m.UID)
}

// Granted reports whether the maintenance that a server names was granted it here. Otherwise somebody else wrote the reference.
func Granted(s *metalv1.Server) bool {
	ref := s.Spec.ServerMaintenanceRef
	return ref != nil && strings.HasPrefix(s.Annotations[metalv1.AnnotationMaintainedBy], ref.Namespace+"/"+ref.Name+"@")
}
