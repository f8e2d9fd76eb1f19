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

// derive finds the phase from durable facts alone; the first that holds wins.
func derive(v *View) phase {
	spec := &v.Server.Spec
	switch {
	case v.Server.Annotations[metalv1.AnnotationParked] == metalv1.AnnotationTrue:
		return parked
	case spec.ServerMaintenanceRef != nil:
		return maintenance
	case spec.ServerClaimRef != nil && v.Claim != nil:
		return reserved
	case spec.ServerClaimRef != nil && spec.ReclaimPolicy == metalv1.ReclaimPolicyRetain && (v.System == nil || v.released()):
		return released
	case spec.ServerClaimRef != nil:
		return releasing
	case v.claimedBy() != "" && v.hasTaint(metalv1.TaintNotClean):
		return failed
	case v.claimedBy() != "":
		return cleanup
	case v.Inspected != "":
		return available
	case discoveryFailures(v.Server) > v.Policy.DiscoveryRetries:
		return failed
	case v.BootInternal:
		return discovery
	}
	return initial
}

// discoveryFailures counts the discoveries that timed out since the last report.
func discoveryFailures(server *metalv1.Server) int {
	n, err := strconv.Atoi(server.Annotations[annotationDiscoveryFailures])
	if err != nil || n < 0 {
		return 0
	}
	return n
}
