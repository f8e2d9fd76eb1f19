package server

import (
	"fmt"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// resetTypes are what the operations about power send (DSP0268, Resource.ResetType). The BMC client takes the nearest type that a BMC
// allows.
var resetTypes = map[string]bmc.ResetType{
	metalv1.OperationGracefulRestartServer: bmc.ResetGracefulRestart,
	metalv1.OperationHardRestartServer:     bmc.ResetForceRestart,
	metalv1.OperationPowerCycleServer:      bmc.ResetPowerCycle,
	metalv1.OperationForceOffServer:        bmc.ResetForceOff,
	metalv1.OperationForceOnServer:         bmc.ResetForceOn,
}

// decideOperation carries out the operation that the server's annotation asks for, and removes the annotation. It reports whether
// it does so now: otherwise the request stays, and the plan may say why.
func decideOperation(v *View, operation string) (p Plan, done bool) {
	state := derive(v).state
	if _, reset := resetTypes[operation]; reset {
		done = v.beginReset(&p, operation, state)
	} else {
		done = v.operate(&p, operation, state)
	}
	if done {
		p.edit(removeAnnotation(metalv1.AnnotationOperation))
	}
	return p, done
}

func (v *View) operate(p *Plan, operation string, state metalv1.ServerState) bool {
	switch operation {
	case metalv1.OperationRetry:
		return v.retry(p, state)
	case metalv1.OperationPark:
		return v.park(p, state)
	case metalv1.OperationUnpark:
		if v.probeInterrupted() {
			p.edit(removeBoot()) // another boot is prepared
		}
		p.edit(removeAnnotation(metalv1.AnnotationParked), removeAnnotation(metalv1.AnnotationParkedOff), removeAnnotation(metalv1.AnnotationParkedSince))
		p.event("Unparked", "Unparked on request")
	default:
		p.warning(metalv1.ReasonUnsupportedOperation, "Operation %.64q is not supported on a Server", operation)
	}
	return true
}

func (v *View) retry(p *Plan, state metalv1.ServerState) bool {
	if state == metalv1.ServerStateError && v.failedBootLeft() {
		return false // the next cleanup would find the failed one, and fail too
	}
	p.edit(forgetFailures()...)
	p.edit(removeTaint{metalv1.TaintNotClean}, removeAnnotation(annotationNotClean))
	if state == metalv1.ServerStateCleanup && v.hopeless() {
		p.edit(removeBoot()) // another boot is prepared
	}
	p.event("Retried", "Retrying on request")
	return true
}

func (v *View) park(p *Plan, state metalv1.ServerState) bool {
	switch state {
	case metalv1.ServerStateParked:
		p.event("Parked", "The server is parked already")
	case metalv1.ServerStateInitial, metalv1.ServerStateDiscovery, metalv1.ServerStateAvailable, metalv1.ServerStateReserved:
		p.edit(setAnnotation{metalv1.AnnotationParked, metalv1.AnnotationTrue}, setAnnotation{metalv1.AnnotationParkedSince, v.Now.UTC().Format(time.RFC3339)})
		p.event("Parked", "Parked on request")
	default:
		p.Deferred = fmt.Sprintf("Parking waits: the server is in state %s", state)
		if v.Deferred != p.Deferred { // once for each reason, though each reconcile sees the request
			p.event(metalv1.ReasonParkDeferred, "%s", p.Deferred)
		}
		return false
	}
	return true
}

// probeInterrupted reports whether a server was parked in the middle of a discovery, whose boot has failed by that. A report that
// came nevertheless has ended it.
func (v *View) probeInterrupted() bool {
	return v.isParked() && v.BootInternal && !v.inspected() && v.Server.Spec.ServerClaimRef == nil && v.claimedBy() == "" && v.Attempt.Begun()
}

// beginReset begins a reset. The request waits while nothing is known of the server, and is dropped on one that is parked.
func (v *View) beginReset(p *Plan, operation string, state metalv1.ServerState) bool {
	switch {
	case state == metalv1.ServerStateParked:
		p.warning(metalv1.ReasonParkedOperationDropped, "Operation %s is dropped: the server is parked", operation)
		return true
	case v.System == nil || v.Unreachable != nil || v.Server.Annotations[metalv1.AnnotationOperationStarted] != "":
		return false
	}
	p.Reset.Begin = operation + "@" + v.Server.ResourceVersion
	p.edit(setAnnotation{metalv1.AnnotationOperationStarted, p.Reset.Begin})
	p.event("OperationStarted", "Operation %s starts on request", operation)
	return true
}

// followReset carries out a reset that was begun, and tells its outcome. It reports whether the reset is under way: nothing else is
// ordered then, for it would supersede the reset.
func followReset(v *View) (p Plan, underWay bool) {
	mark := v.Server.Annotations[metalv1.AnnotationOperationStarted]
	if mark == "" {
		return p, false
	}
	operation, _, _ := strings.Cut(mark, "@")
	reset, status := resetTypes[operation], v.Reset.Status
	switch {
	case reset == "", !v.Reset.Begun, v.System == nil, !v.Reset.Known && v.Reset.Ordered: // it was ordered from another process, or actor
		p.endReset()
		p.warning(metalv1.ReasonOperationOutcomeUnknown, "Operation %.64q began. Its result is unknown, and Farrier does not repeat it", operation)
	case !v.Reset.Known:
		p.Reset.Order = mark
		p.Command = &fleet.Command{ID: resetID(v.Server, mark), System: v.System.URI, Kind: fleet.Reset, Reset: reset}
	case !status.State.Ended():
	case status.State != fleet.Succeeded:
		p.endReset()
		p.warning("OperationFailed", "Operation %s: %s: %v", operation, status.State, status.Err)
	default:
		p.endReset()
		p.event("OperationDone", "Operation %s is done%s", operation, substitute(status.Sent, reset))
	}
	return p, true
}

// substitute tells which reset the BMC was sent in place of one that it does not offer.
func substitute(sent, wanted bmc.ResetType) string {
	if sent == "" || sent == wanted {
		return ""
	}
	return fmt.Sprintf(": the BMC does not offer %s; Farrier sent %s", wanted, sent)
}

func (p *Plan) endReset() {
	p.Reset.End = true
	p.edit(removeAnnotation(metalv1.AnnotationOperationStarted))
}

// resetID is the ID of the command of a reset.
func resetID(server *metalv1.Server, mark string) string { return string(server.UID) + "/" + mark }
