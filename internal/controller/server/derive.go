package server

import (
	"strconv"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// phase is where a server is in its life. It is finer than the states of the API:
// releasing is the end of Reserved.
type phase struct {
	state  metalv1.ServerState
	decide func(*View) Plan
}

var (
	initial     = phase{metalv1.ServerStateInitial, decideInitial}
	discovery   = phase{metalv1.ServerStateDiscovery, decideDiscovery}
	available   = phase{metalv1.ServerStateAvailable, decideAvailable}
	reserved    = phase{metalv1.ServerStateReserved, decideReserved}
	releasing   = phase{metalv1.ServerStateReserved, decideReleasing}
	released    = phase{metalv1.ServerStateReleased, decideReleased}
	cleanup     = phase{metalv1.ServerStateCleanup, decideCleanup}
	maintenance = phase{metalv1.ServerStateMaintenance, decideMaintenance}
	parked      = phase{metalv1.ServerStateParked, decideParked}
	failed      = phase{metalv1.ServerStateError, decideError}
)

// rule says in which phase a server is if a guard holds and none before it does.
type rule struct {
	guard string
	holds func(*View) bool
	phase phase
}

// rules are asked in their order, and each of durable facts alone. The last always holds.
func rules() []rule {
	return []rule{
		{"parked", (*View).isParked, parked},
		{"maintained", func(v *View) bool { return v.Server.Spec.ServerMaintenanceRef != nil }, maintenance},
		{"claimed", func(v *View) bool { return v.Server.Spec.ServerClaimRef != nil && v.Claim != nil }, reserved},
		{"retained", (*View).isRetained, released},
		{"claim gone", func(v *View) bool { return v.Server.Spec.ServerClaimRef != nil }, releasing},
		{"not clean", func(v *View) bool { return v.claimedBy() != "" && v.hasTaint(metalv1.TaintNotClean) }, failed},
		{"dirty", func(v *View) bool { return v.claimedBy() != "" }, cleanup},
		{"inspected", func(v *View) bool { return v.Inspected != "" }, available},
		{"retries spent", func(v *View) bool { return discoveryFailures(v.Server) > v.Policy.DiscoveryRetries }, failed},
		{"probe prepared", func(v *View) bool { return v.BootInternal }, discovery},
		{"new", func(*View) bool { return true }, initial},
	}
}

// derive finds the phase of a server.
func derive(v *View) phase { return deriveRule(v).phase }

func deriveRule(v *View) (last rule) {
	for _, last = range rules() {
		if last.holds(v) {
			break
		}
	}
	return last
}

func (v *View) isParked() bool {
	return v.Server.Annotations[metalv1.AnnotationParked] == metalv1.AnnotationTrue
}

// isRetained says that the claim is gone and the machine, which is off, is kept for its owner.
func (v *View) isRetained() bool {
	spec := &v.Server.Spec
	return spec.ServerClaimRef != nil && spec.ReclaimPolicy == metalv1.ReclaimPolicyRetain && (v.System == nil || v.released())
}

// discoveryFailures counts the discoveries that timed out since the last report.
func discoveryFailures(server *metalv1.Server) int {
	n, err := strconv.Atoi(server.Annotations[annotationDiscoveryFailures])
	if err != nil || n < 0 {
		return 0
	}
	return n
}
