package server

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
)

// decideOperation returns what an operation changes; nil: nothing now, the request stays.
func decideOperation(v *View, operation string) (func(*metalv1.Server), Event) {
	if _, reset := resetTypes[operation]; reset {
		return decideReset(v, operation)
	}
	state := derive(v).state
	switch operation {
	case metalv1.OperationRetry:
		if state == metalv1.ServerStateError && v.failedBootLeft() {
			return nil, Event{} // it would find what failed, and fail by it
		}
		again := state == metalv1.ServerStateCleanup && v.hopeless()
		return func(s *metalv1.Server) {
			forgetFailures(s)
			s.Spec.Taints = withoutTaint(s.Spec.Taints, metalv1.TaintNotClean)
			delete(s.Annotations, annotationNotClean)
			if again {
				s.Spec.BootConfigurationRef = nil // another boot is prepared
			}
		}, Event{corev1.EventTypeNormal, "Retried", "Tried again on request"}
	case metalv1.OperationPark:
		if state == metalv1.ServerStateParked {
			return func(*metalv1.Server) {}, Event{corev1.EventTypeNormal, "Parked", "The server is parked already"}
		}
		switch state {
		case metalv1.ServerStateInitial, metalv1.ServerStateDiscovery, metalv1.ServerStateAvailable, metalv1.ServerStateReserved:
		default:
			return nil, Event{corev1.EventTypeNormal, metalv1.ReasonParkDeferred, "Parking waits: the server is in state " + string(state)}
		}
		return func(s *metalv1.Server) { annotate(s, metalv1.AnnotationParked, metalv1.AnnotationTrue) },
			Event{corev1.EventTypeNormal, "Parked", "Parked on request"}
	case metalv1.OperationUnpark:
		again := v.probeInterrupted()
		return func(s *metalv1.Server) {
			delete(s.Annotations, metalv1.AnnotationParked)
			delete(s.Annotations, annotationParkedOff)
			if again {
				s.Spec.BootConfigurationRef = nil // another boot is prepared
			}
		}, Event{corev1.EventTypeNormal, "Unparked", "Unparked on request"}
	}
	return func(*metalv1.Server) {}, Event{corev1.EventTypeWarning, metalv1.ReasonUnsupportedOperation, fmt.Sprintf("Operation %.64q is not supported on a Server", operation)}
}

// decideReset says what becomes of a request for a reset: it is begun, waits while nothing is known of the
// server, or is dropped on one that is parked.
func decideReset(v *View, operation string) (func(*metalv1.Server), Event) {
	switch {
	case derive(v).state == metalv1.ServerStateParked:
		return func(*metalv1.Server) {}, Event{corev1.EventTypeWarning, metalv1.ReasonParkedOperationDropped, "Operation " + operation + " is dropped: the server is parked"}
	case v.System == nil || v.Unreachable != nil || v.Server.Annotations[metalv1.AnnotationOperationStarted] != "":
		return nil, Event{}
	}
	started := operation + "@" + v.Server.ResourceVersion
	return func(s *metalv1.Server) { annotate(s, metalv1.AnnotationOperationStarted, started) },
		Event{corev1.EventTypeNormal, "OperationStarted", "Operation " + operation + " is carried out on request"}
}

// resetTypes are what the operations that are about power send (DSP0268, Resource.ResetType); the BMC
// client takes the nearest that a BMC allows.
var resetTypes = map[string]bmc.ResetType{
	metalv1.OperationGracefulRestartServer: bmc.ResetGracefulRestart,
	metalv1.OperationHardRestartServer:     bmc.ResetForceRestart,
	metalv1.OperationPowerCycleServer:      bmc.ResetPowerCycle,
	metalv1.OperationForceOffServer:        bmc.ResetForceOff,
	metalv1.OperationForceOnServer:         bmc.ResetForceOn,
}

// probeInterrupted reports whether a server was parked in the middle of a discovery, whose boot has come to nothing by that. One that
// has been reported nevertheless is done with.
func (v *View) probeInterrupted() bool {
	return v.isParked() && v.BootInternal && v.Inspected == "" && v.Server.Spec.ServerClaimRef == nil && v.claimedBy() == "" && v.Attempt.Begun()
}
